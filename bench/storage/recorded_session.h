// Long recorded sessions in temporary files, made when they are first asked for.
#pragma once

#include <cstdint>

#include "sessions/record/step_record.h"
#include "storage/session_file.h"

namespace hybridscope::bench {

inline constexpr std::int64_t kRecordedSteps = 50'000;

// Synthetic traffic that keeps about 16 to 32 requests running on tiny-gdn with two speculative
// tokens. The file is deleted at the end of the program.
const SessionPlace& recorded_session(RecordLevel level = RecordLevel::blocks,
                                     std::int64_t num_steps = kRecordedSteps);

}  // namespace hybridscope::bench
