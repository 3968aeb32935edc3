// The reader of BurstGPT traces.
#include "sessions/traffic/burstgpt.h"
#include "tests/fuzz/fuzz_traffic_log.h"

namespace hybridscope::test {

void fuzz_burstgpt(std::string_view text) { read_log(read_burstgpt, text); }

}  // namespace hybridscope::test
