// A run of our engine kept as a session (--record).
#pragma once

#include <memory>
#include <string>

#include "cli/record_option.h"
#include "cli/reported_run.h"
#include "core/base/result.h"
#include "storage/session_file.h"

namespace hybridscope {

// `source` is the scenario or traffic as given. Without a name the place's session is named after
// it. Error: what the file or the name does not allow.
Result<std::unique_ptr<RecordedSession>> begin_run_recording(const RecordOption& option,
                                                             const SessionPlace& place,
                                                             const std::string& source,
                                                             ReportedRun& run);

// Ends the session as the run ended. Error: what keeps it from being written.
Status end_run_recording(RecordedSession& session, const ReportedRun& run, const EarlyEnd& end);

}  // namespace hybridscope
