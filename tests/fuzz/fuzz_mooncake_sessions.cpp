// The reader of Mooncake rows with sessions.
#include "sessions/traffic/mooncake_sessions.h"
#include "tests/fuzz/fuzz_traffic_log.h"

namespace hybridscope::test {

void fuzz_mooncake_sessions(std::string_view text) { read_log(read_mooncake_sessions, text); }

}  // namespace hybridscope::test
