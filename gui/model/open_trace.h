// Decisions of another engine as a run to be shown: judged once, kept in a session file of its own
// that goes with the run.
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"
#include "gui/model/shown_run.h"

namespace hybridscope {

// TRACE.jsonl[.zst], the first trace of it. Errors: those of TraceReader and TraceJudge, with file
// and line; a file without a step; no room for the session in the folder for temporary files.
Result<std::unique_ptr<ShownRun>> open_trace(const std::string& path);

}  // namespace hybridscope
