// Form recurrent: how a request's tokens are cut into steps changes no bit of its state or outputs.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <vector>

#include "core/numeric/conv.h"
#include "core/numeric/recurrences.h"

namespace hybridscope::numeric_schedule_test {
namespace {

constexpr std::uint32_t kSeed = 23;
constexpr std::int32_t kTokens = 24;

std::vector<float> random_floats(std::mt19937& random, std::int32_t count) {
  std::normal_distribution<float> numbers;
  std::vector<float> floats(static_cast<std::size_t>(count));
  for (float& number : floats) number = numbers(random);
  return floats;
}

std::vector<std::uint32_t> bits_of(const std::vector<float>& floats) {
  std::vector<std::uint32_t> bits;
  for (const float value : floats) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

std::span<const float> part(const std::vector<float>& floats, std::int32_t first,
                            std::int32_t last) {
  const auto width = floats.size() / static_cast<std::size_t>(kTokens);
  return std::span<const float>(floats).subspan(static_cast<std::size_t>(first) * width,
                                                static_cast<std::size_t>(last - first) * width);
}

// A layer of one block 1; prefill(first, last) and decode(token) go on from what it holds.
class Layer {
 public:
  virtual ~Layer() = default;
  virtual void prefill(std::int32_t first, std::int32_t last) = 0;
  virtual void decode(std::int32_t token) = 0;
  std::vector<float> pool, y;

 protected:
  Layer(std::int32_t block_elements, std::int32_t outputs)
      : pool(static_cast<std::size_t>(2 * block_elements)),
        y(static_cast<std::size_t>(outputs * kTokens)),
        elements_(block_elements) {}
  StatePool view() { return {pool, elements_}; }
  std::span<float> outputs(std::int32_t first, std::int32_t last) {
    const auto width = y.size() / static_cast<std::size_t>(kTokens);
    return std::span<float>(y).subspan(static_cast<std::size_t>(first) * width,
                                       static_cast<std::size_t>(last - first) * width);
  }
  PrefillRows prefill_rows(std::int32_t first, std::int32_t last) {
    starts_ = {0, last - first};
    has_initial_ = {static_cast<std::uint8_t>(first > 0)};
    return {.query_start_loc = starts_,
            .has_initial_states = has_initial_,
            .state_indices = vector_view(block_.data(), 1)};
  }
  DecodeRows decode_rows() const { return {.state_indices = matrix_view(block_.data(), 1, 1)}; }

 private:
  std::int64_t elements_;
  std::vector<std::int32_t> block_{1};
  std::vector<std::int32_t> starts_;
  std::vector<std::uint8_t> has_initial_;
};

class ConvCase : public Layer {
 public:
  explicit ConvCase(std::mt19937& random)
      : Layer(3 * 5, 5),
        weight_(random_floats(random, 20)),
        x_(random_floats(random, 5 * kTokens)) {}
  void prefill(std::int32_t first, std::int32_t last) override {
    conv_prefill(layer(), prefill_rows(first, last), view(),
                 {part(x_, first, last), outputs(first, last)});
  }
  void decode(std::int32_t token) override {
    conv_update(layer(), decode_rows(), view(),
                {part(x_, token, token + 1), outputs(token, token + 1)});
  }

 private:
  ConvLayer layer() const { return {.dim = 5, .width = 4, .state_len = 3, .weight = weight_}; }
  std::vector<float> weight_, x_;
};

class Mamba2Case : public Layer {
 public:
  explicit Mamba2Case(std::mt19937& random)
      : Layer(2 * 3 * 40, 6),
        A_log_(random_floats(random, 2)),
        D_(random_floats(random, 2)),
        dt_bias_(random_floats(random, 2)),
        x_(random_floats(random, 6 * kTokens)),
        dt_(random_floats(random, 2 * kTokens)),
        B_(random_floats(random, 40 * kTokens)),
        C_(random_floats(random, 40 * kTokens)) {}
  void prefill(std::int32_t first, std::int32_t last) override {
    mamba2_prefill(layer(), prefill_rows(first, last), view(), tokens(first, last), true);
  }
  void decode(std::int32_t token) override {
    mamba2_update(layer(), decode_rows(), view(), tokens(token, token + 1));
  }

 private:
  Mamba2Layer layer() const {
    return {.num_heads = 2,
            .head_dim = 3,
            .state_size = 40,
            .num_groups = 1,
            .A_log = A_log_,
            .D = D_,
            .dt_bias = dt_bias_};
  }
  Mamba2Tokens tokens(std::int32_t first, std::int32_t last) {
    return {part(x_, first, last), part(dt_, first, last), part(B_, first, last),
            part(C_, first, last), outputs(first, last)};
  }
  std::vector<float> A_log_, D_, dt_bias_, x_, dt_, B_, C_;
};

class DeltaRuleCase : public Layer {
 public:
  explicit DeltaRuleCase(std::mt19937& random)
      : Layer(2 * 3 * 40, 6),
        A_log_(random_floats(random, 2)),
        dt_bias_(random_floats(random, 2)),
        q_(random_floats(random, 40 * kTokens)),
        k_(random_floats(random, 40 * kTokens)),
        v_(random_floats(random, 6 * kTokens)),
        a_(random_floats(random, 2 * kTokens)),
        b_(random_floats(random, 2 * kTokens)) {}
  void prefill(std::int32_t first, std::int32_t last) override {
    delta_rule_prefill(layer(), prefill_rows(first, last), view(), tokens(first, last));
  }
  void decode(std::int32_t token) override {
    delta_rule_update(layer(), decode_rows(), view(), tokens(token, token + 1));
  }

 private:
  DeltaRuleLayer layer() const {
    return {.num_key_heads = 1,
            .num_value_heads = 2,
            .key_dim = 40,
            .value_dim = 3,
            .A_log = A_log_,
            .dt_bias = dt_bias_};
  }
  DeltaRuleTokens tokens(std::int32_t first, std::int32_t last) {
    return {part(q_, first, last), part(k_, first, last), part(v_, first, last),
            part(a_, first, last), part(b_, first, last), outputs(first, last)};
  }
  std::vector<float> A_log_, dt_bias_, q_, k_, v_, a_, b_;
};

template <class Case>
class NumericSchedule : public testing::Test {};
using Layers = testing::Types<ConvCase, Mamba2Case, DeltaRuleCase>;
TYPED_TEST_SUITE(NumericSchedule, Layers);

TYPED_TEST(NumericSchedule, ChunksAndDecodesGiveTheBitsOfOnePrefill) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  for (std::uint32_t round = 0; round < 20; ++round) {
    std::mt19937 random(kSeed + round);
    TypeParam whole(random);
    whole.prefill(0, kTokens);
    random.seed(kSeed + round);
    TypeParam cut(random);
    for (std::int32_t token = 0; token < kTokens;) {
      const auto size = static_cast<std::int32_t>(random() % 5) + 1;
      const std::int32_t last = std::min(token + size, kTokens);
      if (token > 0 && size == 1)
        cut.decode(token);
      else
        cut.prefill(token, last);
      token = last;
    }
    ASSERT_EQ(bits_of(cut.pool), bits_of(whole.pool)) << round;
    ASSERT_EQ(bits_of(cut.y), bits_of(whole.y)) << round;
  }
}

}  // namespace
}  // namespace hybridscope::numeric_schedule_test
