// The session of a command (--record).
#pragma once

#include <memory>

#include "sessions/job/step_files.h"

namespace hybridscope {

// A name that was given gets the source's suffix; without one it is named after header.source.
// Null: no session is asked for. Errors: those of source.header and SessionSink::begin.
Result<std::unique_ptr<StepFile>> begin_recorded_session(const StepFileOptions& options,
                                                         const StepFileSource& source);

}  // namespace hybridscope
