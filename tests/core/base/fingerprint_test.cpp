#include "core/base/fingerprint.h"

#include <gtest/gtest.h>

namespace hybridscope::fingerprint_test {
namespace {

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

}  // namespace
}  // namespace hybridscope::fingerprint_test
