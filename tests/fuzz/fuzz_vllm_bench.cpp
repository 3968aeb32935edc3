// The reader of vLLM's bench results.
#include "sessions/traffic/vllm_bench.h"
#include "tests/fuzz/fuzz_traffic_log.h"

namespace hybridscope::test {

void fuzz_vllm_bench(std::string_view text) { read_log(read_vllm_bench, text); }

}  // namespace hybridscope::test
