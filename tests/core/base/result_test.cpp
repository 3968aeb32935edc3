#include <gtest/gtest.h>

#include "core/base/fingerprint.h"
#include "core/base/math.h"
#include "core/base/result.h"

namespace hybridscope::result_test {
namespace {

TEST(Result, HoldsAValueOrAnError) {
  const Result<int> good = 3;
  const Result<int> bad = invalid_input("3 rows, expected 4");
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good.value(), 3);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().message, "3 rows, expected 4");
}

TEST(Result, TakingTheValueOfAnErrorIsAContractViolation) {
  const Result<int> bad = invalid_input("no");
  EXPECT_THROW(static_cast<void>(bad.value()), ContractViolation);
}

TEST(Fingerprint, ConstantsNeverChangeBecauseDigestsAreComparedAcrossReleases) {
  EXPECT_EQ(mix(1, 2), 0x9A9F9AB9F2296E42ULL);
  EXPECT_EQ(seed_fingerprint(0), 0xE7AF9CA67A32656AULL);
}

TEST(Fingerprint, OrderOfTokensMatters) {
  const Fingerprint start = seed_fingerprint(0);
  EXPECT_NE(extend_fingerprint(extend_fingerprint(start, 7), 8),
            extend_fingerprint(extend_fingerprint(start, 8), 7));
}

TEST(Fingerprint, SaltsSeparatePrefixes) { EXPECT_NE(seed_fingerprint(0), seed_fingerprint(1)); }

TEST(Fingerprint, IsNeverZero) {
  // The one input of mix(s, 0) that the bijection maps to 0 is s = K2.
  EXPECT_EQ(mix(0xD1B54A32D192ED03ULL, 0), 1u);
}

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

}  // namespace hybridscope::result_test
