// The reader of vLLM's bench results.
#include "sessions/traffic/vllm_bench.h"
#include "tests/fuzz/fuzz_traffic_log.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  hybridscope::test::read_log(hybridscope::read_vllm_bench, hybridscope::test::as_text(data, size));
  return 0;
}
