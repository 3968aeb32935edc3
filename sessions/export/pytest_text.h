// A test of vLLM's KV-cache manager and of its scheduler's split, with what our engine decided
// filled in: one file of Python that needs vLLM and pytest, no GPU.
#pragma once

#include <string>

#include "core/base/result.h"
#include "sessions/export/exported_run.h"

namespace hybridscope {

// Names are those of vLLM main at 61ab70ec3; arguments that a version does not know are left out.
// Error invalid_input: asynchronous scheduling, whose manager is told counts that the test would
// have to guess.
Result<std::string> pytest_text(const ExportedRun& run);

}  // namespace hybridscope
