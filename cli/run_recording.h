// A run of our engine kept as a session (--record).
#pragma once

#include <memory>
#include <string>

#include "cli/checked_run.h"
#include "cli/record_option.h"
#include "core/base/result.h"
#include "storage/session_file.h"

namespace hybridscope {

// `source` is the scenario or traffic as given. Without a name the place's session is named after
// it. Error: what the file or the name does not allow.
Result<std::unique_ptr<RecordedSession>> begin_run_recording(const RecordOption& option,
                                                             const SessionPlace& place,
                                                             const std::string& source,
                                                             CheckedRun& run);

// The last step of `run`, `step`, goes into the session. Error: what keeps it from being written.
Status record_step(RecordedSession& session, const CheckedRun& run, const CheckedStep& step);

// Ends the session as the run ended. Error: as record_step().
Status end_run_recording(RecordedSession& session, const CheckedRun& run, const RunEnd& end);

}  // namespace hybridscope
