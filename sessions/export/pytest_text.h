// A test of vLLM's KV cache manager and of its scheduler's split that expects our engine's
// decisions: one Python file that needs vLLM and pytest, but no GPU.
#pragma once

#include <string>

#include "core/base/result.h"
#include "sessions/export/exported_run.h"

namespace hybridscope {

// Uses the names of vLLM main at 61ab70ec3; arguments that a version does not know are left out.
// Error invalid_input: asynchronous scheduling, because the test would have to guess the counts
// that the manager receives.
Result<std::string> pytest_text(const ExportedRun& run);

}  // namespace hybridscope
