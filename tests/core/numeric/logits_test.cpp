// Tokens, margins and divergences out of logits.
#include "core/numeric/logits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace hybridscope::logits_test {
namespace {

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

}  // namespace
}  // namespace hybridscope::logits_test
