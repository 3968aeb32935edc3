// A long recorded session in a temporary file, made when it is first asked for.
#pragma once

#include <cstdint>

#include "storage/session_file.h"

namespace hybridscope::bench {

inline constexpr std::int64_t kRecordedSteps = 50'000;

// Synthetic traffic that keeps about 16 to 32 requests running on tiny-gdn with two speculative
// tokens, at level blocks. The file is deleted at the end of the program.
const SessionPlace& recorded_session();

}  // namespace hybridscope::bench
