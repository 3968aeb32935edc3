// Shared by tests on a CUDA device, which are skipped with a reason if there is none.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

#include "kernels/cuda/describe_cuda.h"
#include "tests/kernels/random_state.h"

// Put first in a test that needs a device.
#define HS_NEED_CUDA()                                                             \
  if (const auto hs_description = ::hybridscope::describe_cuda(); !hs_description) \
  GTEST_SKIP() << hs_description.error().message

namespace hybridscope::test {

// Numbers from a seed that HYBRIDSCOPE_SEED sets; tests print it.
class SeededDraw {
 public:
  SeededDraw() : seed_(seed_of_environment()), random_(seed_) {}
  std::uint64_t seed() const { return seed_; }
  std::mt19937_64& random() { return random_; }
  Draw draw() {
    return [this](std::int32_t least, std::int32_t most) {
      return std::uniform_int_distribution<std::int32_t>(least, most)(random_);
    };
  }

 private:
  static std::uint64_t seed_of_environment() {
    const char* seed = std::getenv("HYBRIDSCOPE_SEED");
    return seed == nullptr ? 20261 : std::strtoull(seed, nullptr, 10);
  }
  std::uint64_t seed_;
  std::mt19937_64 random_;
};

}  // namespace hybridscope::test
