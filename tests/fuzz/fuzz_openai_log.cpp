// The reader of request logs in OpenAI's style.
#include "sessions/traffic/openai_log.h"
#include "tests/fuzz/fuzz_traffic_log.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  hybridscope::test::read_log(hybridscope::read_openai_log, hybridscope::test::as_text(data, size));
  return 0;
}
