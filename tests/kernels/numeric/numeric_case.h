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
#include "core/numeric/dense_layers.h"
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

// Random rows as metadata builders make them, padding among them, in all cache modes. Each column
// of a row has a block of its own, or none.

// none: modes none and align; spec: verify rows of 1 to 1 + K tokens with accepted counts.
enum class DecodeKind : std::uint8_t { none, spec, all, all_spec };
inline const std::vector<DecodeKind> kDecodeKinds = {DecodeKind::none, DecodeKind::spec,
                                                     DecodeKind::all, DecodeKind::all_spec};

struct MostRows {
  std::int32_t rows = 9;
  std::int32_t tokens = 1;  // of a row without counts
};

// Owns the arrays that rows() views.
class RandomDecodeRows {
 public:
  RandomDecodeRows(NumericDraw& draw, DecodeKind kind, const MostRows& at_most = {});
  DecodeRows rows() const;
  std::int32_t num_drafts() const { return num_drafts_; }
  // Some may be behind the last row.
  std::int32_t num_tokens() const { return num_tokens_; }
  std::int32_t num_blocks() const { return num_blocks_; }

 private:
  std::int32_t num_drafts_ = 0;  // K
  std::int32_t columns_ = 1;
  std::int32_t num_tokens_ = 0;
  std::int32_t num_blocks_ = 0;
  std::vector<std::int32_t> table_, starts_, accepted_, source_, destination_;
};

// Mode all where `mode_all`, else modes none and align. `longest`: tokens of a long row.
class RandomPrefillRows {
 public:
  RandomPrefillRows(NumericDraw& draw, bool mode_all, std::int32_t longest = 70);
  PrefillRows rows() const;
  std::int32_t num_tokens() const { return num_tokens_; }
  std::int32_t num_blocks() const { return num_blocks_; }

 private:
  std::int32_t block_size_ = 0;
  std::int32_t columns_ = 1;
  std::int32_t num_tokens_ = 0;
  std::int32_t num_blocks_ = 0;
  std::vector<std::int32_t> table_, starts_, first_, last_, last_computed_, computed_;
  std::vector<std::int32_t> checkpoint_offsets_, checkpoint_blocks_;
  std::vector<std::uint8_t> has_initial_states_;
};

// Rows of decodes and prompts; some have no sequence.
class RandomAttentionRows {
 public:
  RandomAttentionRows(NumericDraw& draw, std::int32_t block_size);
  AttentionRows rows() const;
  std::int32_t num_tokens() const { return num_tokens_; }
  std::int32_t num_blocks() const { return num_blocks_; }

 private:
  std::int32_t columns_ = 1;
  std::int32_t num_tokens_ = 0;
  std::int32_t num_blocks_ = 0;
  std::vector<std::int32_t> table_, starts_, seq_lens_;
};

}  // namespace hybridscope::test
