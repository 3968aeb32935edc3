// Fixed numbers: digests are compared across machines and releases.
#include "core/state/state_ops.h"

#include <gtest/gtest.h>

#include <vector>

namespace hybridscope::trace_element_test {
namespace {

constexpr Fingerprint kFingerprint = 0x0123456789ABCDEF;

std::vector<std::uint64_t> elements(Fingerprint fingerprint, std::int32_t elem_size, int count) {
  std::vector<std::uint64_t> values;
  for (int i = 0; i < count; ++i) values.push_back(trace_element(fingerprint, i, elem_size));
  return values;
}

TEST(TraceElement, TheFirstEightBytesAreTheFingerprint) {
  EXPECT_EQ(elements(kFingerprint, 4, 2), (std::vector<std::uint64_t>{0x89ABCDEF, 0x01234567}));
  EXPECT_EQ(elements(kFingerprint, 2, 4),
            (std::vector<std::uint64_t>{0xCDEF, 0x89AB, 0x4567, 0x0123}));
}

TEST(TraceElement, TheOthersAreMixedAndCut) {
  EXPECT_EQ(mix(kFingerprint, 4), 0xD5506DD1AF65E7FDULL);
  EXPECT_EQ(trace_element(kFingerprint, 4, 4), 0xAF65E7FDu);
  EXPECT_EQ(trace_element(kFingerprint, 4, 2), 0xE7FDu);
  EXPECT_EQ(trace_element(kFingerprint, 2, 4), 0xE9750B71u);
  EXPECT_EQ(trace_element(kFingerprint, 5, 4), 0xD04CC09Eu);
}

TEST(TraceElement, PoisonIsOnePatternThroughout) {
  EXPECT_EQ(elements(kPoison, 4, 4), std::vector<std::uint64_t>(4, 0xDEADDEAD));
  EXPECT_EQ(elements(kPoison, 2, 8), std::vector<std::uint64_t>(8, 0xDEAD));
}

TEST(TraceElement, BeforeTheFirstTokenThereAreZeros) {
  EXPECT_EQ(elements(kBeforeFirstToken, 4, 4), std::vector<std::uint64_t>(4, 0));
  EXPECT_EQ(elements(kBeforeFirstToken, 2, 8), std::vector<std::uint64_t>(8, 0));
}

// For kernels: known at compile time.
static_assert(trace_element(kFingerprint, 0, 4) == 0x89ABCDEF);

}  // namespace
}  // namespace hybridscope::trace_element_test
