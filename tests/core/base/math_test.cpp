#include "core/base/math.h"

#include <gtest/gtest.h>

namespace hybridscope::math_test {
namespace {

TEST(Math, CdivRoundsUp) {
  EXPECT_EQ(cdiv(0, 4), 0);
  EXPECT_EQ(cdiv(1, 4), 1);
  EXPECT_EQ(cdiv(4, 4), 1);
  EXPECT_EQ(cdiv(5, 4), 2);
}

TEST(Math, FloorDivRoundsTowardsMinusInfinity) {
  EXPECT_EQ(floor_div(-1, 4), -1);
  EXPECT_EQ(floor_div(-4, 4), -1);
  EXPECT_EQ(floor_div(-5, 4), -2);
  EXPECT_EQ(floor_div(7, 4), 1);
}

TEST(Math, RoundingKeepsMultiples) {
  EXPECT_EQ(round_down(11, 4), 8);
  EXPECT_EQ(round_down(12, 4), 12);
  EXPECT_EQ(round_up(9, 4), 12);
  EXPECT_EQ(round_up(8, 4), 8);
}

}  // namespace
}  // namespace hybridscope::math_test
