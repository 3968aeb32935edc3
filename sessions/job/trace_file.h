// The trace of a run of our own engine (--trace).
#pragma once

#include <memory>

#include "sessions/job/step_files.h"

namespace hybridscope {

// Its header is in it. Null: no trace is asked for. Error: the file cannot be written. Requires:
// the source has an engine and a plan.
Result<std::unique_ptr<StepFile>> begin_trace_file(const StepFileOptions& options,
                                                   const StepFileSource& source);

}  // namespace hybridscope
