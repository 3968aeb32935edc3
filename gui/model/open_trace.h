// Decisions of another engine as a run to show: judged once, and kept in a temporary session file
// that is deleted with the run.
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"
#include "gui/model/shown_run.h"

namespace hybridscope {

// The first trace of TRACE.jsonl[.zst]. Errors: those of TraceReader and TraceJudge, with file and
// line; a file without a step; no room for the session in the folder for temporary files.
Result<std::unique_ptr<ShownRun>> open_trace(const std::string& path);

}  // namespace hybridscope
