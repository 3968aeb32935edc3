// The reader of Mooncake rows with sessions.
#include "sessions/traffic/mooncake_sessions.h"
#include "tests/fuzz/fuzz_traffic_log.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  hybridscope::test::read_log(hybridscope::read_mooncake_sessions,
                              hybridscope::test::as_text(data, size));
  return 0;
}
