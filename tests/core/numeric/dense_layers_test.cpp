#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "core/numeric/arithmetic.h"
#include "core/numeric/dense_layers.h"
#include "core/numeric/hybrid_model.h"

namespace hybridscope::dense_layers_test {
namespace {

using testing::ElementsAre;

// The mean of the squares of 3 and 4 twice is 12.5; the scale is 1 / 3.5355.
TEST(RmsNorm, DividesByTheRootOfTheMeanSquare) {
  const std::vector<float> x{3, 4}, weight{1, 10};
  std::vector<float> y(2);
  rms_norm({weight, 0, NormWeight::plain}, x, y);
  EXPECT_FLOAT_EQ(y[0], 3 / std::sqrt(12.5F));
  EXPECT_FLOAT_EQ(y[1], 40 / std::sqrt(12.5F));
  rms_norm({weight, 0, NormWeight::plus_one}, x, y);
  EXPECT_FLOAT_EQ(y[1], 44 / std::sqrt(12.5F));
}

TEST(GatedNorm, GatesFirstAndNormalisesEachGroup) {
  const std::vector<float> x{1, 1}, z{100, 200}, weight{1, 1};
  std::vector<float> y(2);
  gated_norm({weight, 0}, 2, x, z, y);
  EXPECT_THAT(y, ElementsAre(1, 1));  // each group is one element
  norm_gated({weight, 0}, OutputGate::silu, x, z, y);
  EXPECT_THAT(y, ElementsAre(100, 200));
  norm_gated({weight, 0}, OutputGate::sigma, x, z, y);
  EXPECT_THAT(y, ElementsAre(1, 1));
}

TEST(Linear, EachOutputHasARowOfWeights) {
  const std::vector<float> weight{1, 2, 3, 4}, x{10, 1};
  std::vector<float> y(2);
  linear(weight, x, y);
  EXPECT_THAT(y, ElementsAre(12, 34));
}

TEST(GatedMlp, MultipliesTheGateWithTheUpProjection) {
  const std::vector<float> gate{100}, up{3}, down{2}, x{1};
  std::vector<float> y(1);
  gated_mlp({gate, up, down, 1}, x, y);
  EXPECT_THAT(y, ElementsAre(600));
}

TEST(RopeTable, TurnsHalvesOfTheRotaryPartOnly) {
  RopeTable table(2, 10000.0);
  std::vector<float> head{1, 0, 5};
  table.turn(0, head);
  EXPECT_THAT(head, ElementsAre(1, 0, 5));
  table.turn(3, head);
  EXPECT_EQ(head[0], static_cast<float>(std::cos(3.0)));
  EXPECT_EQ(head[1], static_cast<float>(std::sin(3.0)));
  EXPECT_EQ(head[2], 5);
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::uint32_t kSeed = 23;

TEST(Arithmetic, ExpIsTheNearestFloat32) {
  EXPECT_EQ(exp_f32(0.0F), 1.0F);
  EXPECT_EQ(exp_f32(1.0F), 0x1.5bf0a8p+1F);
  EXPECT_EQ(exp_f32(-1.0F), 0x1.78b564p-2F);
  std::mt19937 random(kSeed);
  std::uniform_real_distribution<float> numbers(-87.0F, 88.0F);
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  for (int i = 0; i < 20000; ++i) {
    const float x = numbers(random);
    ASSERT_EQ(exp_f32(x), static_cast<float>(std::exp(static_cast<long double>(x)))) << x;
  }
}

TEST(Arithmetic, ExpEndsInZeroAndInfinity) {
  EXPECT_EQ(exp_f32(-104.5F), 0.0F);
  EXPECT_EQ(exp_f32(-kInfinity), 0.0F);
  EXPECT_EQ(exp_f32(88.9F), kInfinity);
  EXPECT_EQ(exp_f32(kInfinity), kInfinity);
  EXPECT_GT(exp_f32(-103.0F), 0.0F);  // denormals stay
  EXPECT_TRUE(std::isnan(exp_f32(std::nanf(""))));
}

TEST(Arithmetic, SoftplusIsTheIdentityAbove20) {
  EXPECT_EQ(softplus_f32(20.5F), 20.5F);
  EXPECT_EQ(softplus_f32(0.0F), 0x1.62e430p-1F);  // log 2
  EXPECT_EQ(softplus_f32(-200.0F), 0.0F);
  EXPECT_NEAR(softplus_f32(20.0F), 20.0F, 1e-6F);
}

TEST(Arithmetic, GatesOfZeroAndOfLargeNumbers) {
  EXPECT_EQ(sigma_f32(0.0F), 0.5F);
  EXPECT_EQ(sigma_f32(-200.0F), 0.0F);
  EXPECT_EQ(silu_f32(0.0F), 0.0F);
  EXPECT_EQ(silu_f32(30.0F), 30.0F);
}

// From left to right the 1 would be lost beside 1e8.
TEST(OrderedSum, TermsThatAre32ApartMeetFirst) {
  OrderedSum sum;
  sum.add(0, 1e8F);
  sum.add(1, 1.0F);
  sum.add(32, -1e8F);
  EXPECT_EQ(sum.total(), 1.0F);
}

TEST(OrderedSum, LanesAreHalvedFromTheTop) {
  OrderedSum sum;
  sum.add(0, 1e8F);
  sum.add(16, -1e8F);  // meets lane 0 in the first halving
  sum.add(1, 1.0F);    // meets it in the last
  EXPECT_EQ(sum.total(), 1.0F);
  OrderedSum other;
  other.add(0, 1e8F);
  other.add(1, -1e8F);
  other.add(16, 1.0F);
  EXPECT_EQ(other.total(), 0.0F);
}

TEST(OrderedSum, ADotProductIsTheSumOfItsRoundedProducts) {
  std::mt19937 random(kSeed);
  std::normal_distribution<float> numbers;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  for (std::int64_t n = 0; n < 130; ++n) {
    std::vector<float> a, b;
    OrderedSum sum;
    for (std::int64_t i = 0; i < n; ++i) {
      a.push_back(numbers(random));
      b.push_back(numbers(random));
      const volatile float product = a.back() * b.back();
      sum.add(i, product);
    }
    const float dot = OrderedSum::dot(a.data(), b.data(), n);
    const float total = sum.total();
    ASSERT_EQ(std::memcmp(&dot, &total, sizeof dot), 0) << n;
  }
}

TEST(OrderedSum, ZerosBehindTheTermsChangeNothing) {
  const std::vector<float> a{1e8F, 1.0F, -1e8F};
  std::vector<float> padded = a;
  padded.resize(64);
  const std::vector<float> ones(64, 1.0F);
  EXPECT_EQ(OrderedSum::dot(a.data(), ones.data(), 3),
            OrderedSum::dot(padded.data(), ones.data(), 64));
}

// Tokens, margins and divergences out of logits.

TEST(Logits, TheSmallestIndexAmongEqualMaximaIsGreedy) {
  EXPECT_EQ(greedy_token(std::vector<float>{1, 3, 3, 2}), 1);
}

TEST(Logits, NanIsNoMaximum) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(greedy_token(std::vector<float>{nan, -5, nan, -4}), 3);
}

TEST(Logits, TheMarginIsTheBestMinusTheSecond) {
  EXPECT_EQ(logit_margin(std::vector<float>{1, 4, 2.5F}), 1.5F);
  EXPECT_EQ(logit_margin(std::vector<float>{4, 4}), 0.0F);
}

// p = (3/4, 1/4), r = (1/2, 1/2): 3/4 log(3/2) + 1/4 log(1/2).
TEST(Logits, TheDivergenceIsOfTheReferenceFromTheOther) {
  const std::vector<float> p{std::log(3.0F), 0};
  const std::vector<float> r{0, 0};
  EXPECT_NEAR(kl_divergence(p, r), 0.75 * std::log(1.5) + 0.25 * std::log(0.5), 1e-7);
  EXPECT_EQ(kl_divergence(r, r), 0.0);
}

// exp of the logits: 1, 3, 0, 4 of 8.
TEST(Logits, LikelyTokensComeWithTheirProbabilityMostProbableFirst) {
  const float least = -std::numeric_limits<float>::infinity();
  const std::vector<float> logits{0, std::log(3.0F), least, std::log(4.0F)};
  const std::vector<TokenChance> two = likely_tokens(logits, 2);
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[0].id, 3);
  EXPECT_NEAR(two[0].probability, 0.5, 1e-6);
  EXPECT_EQ(two[1].id, 1);
  EXPECT_NEAR(two[1].probability, 0.375, 1e-6);
  EXPECT_EQ(likely_tokens(logits, 9).size(), 4U);
  EXPECT_EQ(likely_tokens(std::vector<float>{5, 5}, 2)[0].id, 0);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(likely_tokens(std::vector<float>{nan, nan}, 2).empty());
}

// One head of one element: with equal keys the output is the mean of the values.

const float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Case {
  std::vector<float> keys = std::vector<float>(8, kNaN);    // four blocks of two tokens
  std::vector<float> values = std::vector<float>(8, kNaN);  // the same
  std::vector<float> o;

  // Equal keys, so that every position weighs the same.
  void run(const std::vector<float>& v, std::vector<std::int32_t> starts,
           std::vector<std::int32_t> seq_lens, const std::vector<std::int32_t>& table) {
    const std::vector<float> ones(v.size(), 1);
    o.assign(v.size(), -1);
    const auto rows = static_cast<std::int32_t>(seq_lens.size());
    paged_attention({.num_heads = 1, .num_kv_heads = 1, .head_dim = 1, .block_size = 2},
                    {.query_start_loc = starts,
                     .seq_lens = seq_lens,
                     .block_table = matrix_view(table.data(), rows,
                                                static_cast<std::int32_t>(table.size()) / rows)},
                    {keys, values}, {.q = ones, .k = ones, .v = v, .o = o});
  }
};

TEST(PagedAttention, AQueryAttendsToItsOwnAndEarlierPositions) {
  Case attention;
  attention.run({2, 4, 9}, {0, 3}, {3}, {3, 1});
  EXPECT_THAT(attention.o, ElementsAre(2, 3, 5));
  EXPECT_EQ(attention.values[6], 2);  // position 0: block 3
  EXPECT_EQ(attention.values[2], 9);  // position 2: block 1
}

TEST(PagedAttention, EarlierTokensComeFromTheBlockTable) {
  Case attention;
  attention.run({2, 4}, {0, 2}, {2}, {3, 1});
  attention.run({9}, {0, 1}, {3}, {3, 1});
  EXPECT_THAT(attention.o, ElementsAre(5));
}

TEST(PagedAttention, WhatRejectedDraftsLeftIsNotRead) {
  Case attention;
  attention.run({2, 4, 9}, {0, 3}, {3}, {3, 1});
  attention.run({8}, {0, 1}, {2}, {3, 1});  // position 1 again
  EXPECT_THAT(attention.o, ElementsAre(5));
}

TEST(PagedAttention, ASlotOfTheNullBlockIsNotWritten) {
  Case attention;
  attention.run({2}, {0, 1}, {1}, {0, 0});
  EXPECT_TRUE(attention.values[0] != attention.values[0]);
}

TEST(PagedAttention, APaddingRowDoesNothing) {
  Case attention;
  attention.run({2, 4}, {0, 1, 2}, {1, 0}, {3, 0});
  EXPECT_THAT(attention.o, ElementsAre(2, -1));
}

}  // namespace

}  // namespace hybridscope::dense_layers_test
