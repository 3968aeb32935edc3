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

}  // namespace
}  // namespace hybridscope::logits_test
