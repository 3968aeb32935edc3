#include "kernels/cpu/available_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace hybridscope::available_memory_test {
namespace {

TEST(AvailableMemory, IsSomeOfWhatTheMachineHas) {
  const std::int64_t machine =
      static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  EXPECT_GT(available_memory_bytes(), 0);
  EXPECT_LE(available_memory_bytes(), machine);
}

}  // namespace
}  // namespace hybridscope::available_memory_test
