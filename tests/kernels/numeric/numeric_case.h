// Shared by tests that hold a layer kernel on a CUDA device against core/numeric: random values,
// and the comparison of all bits.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/numeric/state_rows.h"
#include "tests/kernels/cuda/cuda_device.h"
#include "tests/kernels/cuda/num_cases.h"

namespace hybridscope::test {

// Of a seed that HYBRIDSCOPE_SEED sets.
class NumericDraw {
 public:
  explicit NumericDraw(std::uint64_t seed) : random_(seed) {}

  std::int32_t number(std::int32_t least, std::int32_t most) {
    return std::uniform_int_distribution<std::int32_t>(least, most)(random_);
  }
  bool chance(double probability) { return std::bernoulli_distribution(probability)(random_); }
  template <class T>
  const T& one_of(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(
        number(0, static_cast<std::int32_t>(values.size()) - 1))];
  }
  // Normal numbers; in one of eight arrays a few zeros, denormals, huge numbers and infinities too.
  std::vector<float> floats(std::int64_t count, float scale = 1.0F);
  std::mt19937_64& random() { return random_; }
  // From now on all numbers are normal: for comparisons that are not of bits.
  void leave_out_special_numbers() { has_special_numbers_ = false; }

 private:
  bool has_special_numbers_ = true;
  std::mt19937_64 random_;
};

// Blocks of normal numbers; block 0 holds NaN.
std::vector<float> random_pool(NumericDraw& draw, std::int32_t num_blocks,
                               std::int64_t block_elements);

// Fails with the first place where bits differ; NaN equals NaN.
testing::AssertionResult same_bits(std::span<const float> expected, std::span<const float> got);
testing::AssertionResult same_bits(std::span<const std::uint16_t> expected,
                                   std::span<const std::uint16_t> got);

// What a call works on: the blocks of a pool, and outputs.
struct NumericOutcome {
  std::vector<float> pool;
  std::vector<float> y;
};
using NumericCall = std::function<Status(NumericOutcome&)>;

// `host` and `device` on the same blocks give the same bits. Outputs are zeros before the host's
// call and NaN before the device's, which has to write all of them.
void expect_same_outcome(const std::vector<float>& pool, std::int64_t num_outputs,
                         const NumericCall& host, const NumericCall& device);

// Runs `body(draw)` with a seed for each case, which is named where one fails.
void for_each_numeric_case(int usual, const std::function<void(NumericDraw&)>& body);

}  // namespace hybridscope::test
