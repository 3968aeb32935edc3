// Fixed numbers: digests are compared across machines and releases.
#include "core/state/state_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vector>

namespace hybridscope::state_ops_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(StateOps, OperationsOfOneKindAreOneBatch) {
  StateOps ops;
  ops.add_poison(4);
  ops.add_poison(7);
  ops.add_row({.group_index = 0});
  ops.add_row({.group_index = 1});
  ops.add_poison(9);
  EXPECT_THAT(ops.batches, ElementsAre(StateOpBatch{StateOpKind::poison, 0, 2},
                                       StateOpBatch{StateOpKind::forward, 0, 2},
                                       StateOpBatch{StateOpKind::poison, 2, 1}));
  EXPECT_THAT(ops.poisoned, ElementsAre(4, 7, 9));
}

// The copies of a launch read before they write, those of the next launch read what it wrote.
TEST(StateOps, LaunchesStayApart) {
  StateOps ops;
  ops.begin_launch();
  ops.add_copy({.dst_block = 2});
  ops.add_copy({.dst_block = 3});
  ops.begin_launch();
  ops.add_copy({.dst_block = 4});
  EXPECT_THAT(ops.batches, ElementsAre(StateOpBatch{StateOpKind::copy, 0, 2},
                                       StateOpBatch{StateOpKind::copy, 2, 1}));
}

TEST(StateOps, ClearedTheyAreAsNew) {
  StateOps ops;
  ops.add_poison(4);
  ops.begin_launch();
  ops.add_copy({.dst_block = 2});
  ops.add_row({});
  ops.writes.push_back({});
  ops.tokens.push_back(1);
  ops.token_fingerprints.push_back(2);
  ops.clear();
  EXPECT_THAT(ops.batches, IsEmpty());
  EXPECT_THAT(ops.poisoned, IsEmpty());
  EXPECT_THAT(ops.copies, IsEmpty());
  EXPECT_THAT(ops.rows, IsEmpty());
  EXPECT_THAT(ops.writes, IsEmpty());
  EXPECT_THAT(ops.tokens, IsEmpty());
  EXPECT_THAT(ops.token_fingerprints, IsEmpty());
  ops.add_copy({.dst_block = 5});
  EXPECT_THAT(ops.batches, ElementsAre(StateOpBatch{StateOpKind::copy, 0, 1}));
}

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

}  // namespace hybridscope::state_ops_test
