// libFuzzer's entry point: HYBRIDSCOPE_FUZZED is the function of one reader, fuzz_NAME.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  hybridscope::test::HYBRIDSCOPE_FUZZED({reinterpret_cast<const char*>(data), size});
  return 0;
}
