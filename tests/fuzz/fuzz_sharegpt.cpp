// The reader of ShareGPT conversations.
#include "sessions/traffic/sharegpt.h"
#include "tests/fuzz/fuzz_traffic_log.h"

namespace hybridscope::test {

void fuzz_sharegpt(std::string_view text) { read_log(read_sharegpt, text); }

}  // namespace hybridscope::test
