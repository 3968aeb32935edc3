#include "kernels/step_plan.h"

#include <gtest/gtest.h>

#include <vector>

namespace hybridscope::copy_conflicts_test {
namespace {

StateCopyOp copy(std::int32_t src, std::int32_t dst) {
  return {.conv_src_block = src, .temporal_src_block = src, .dst_block = dst};
}

TEST(CopyConflicts, CopiesBetweenDifferentBlocksAreFree) {
  CopyConflicts conflicts(6);
  EXPECT_FALSE(conflicts.found_in(std::vector{copy(0, 1), copy(2, 3), copy(0, 4)}));
}

TEST(CopyConflicts, AShiftInItsOwnBlockIsFree) {
  CopyConflicts conflicts(6);
  EXPECT_FALSE(conflicts.found_in(std::vector{copy(1, 1), copy(2, 2)}));
}

TEST(CopyConflicts, ABlockThatTwoCopiesWriteIsAConflict) {
  CopyConflicts conflicts(6);
  EXPECT_TRUE(conflicts.found_in(std::vector{copy(0, 3), copy(1, 3)}));
}

TEST(CopyConflicts, ABlockThatALaterCopyWritesIsAConflict) {
  CopyConflicts conflicts(6);
  EXPECT_TRUE(conflicts.found_in(std::vector{copy(0, 1), copy(2, 0)}));
}

TEST(CopyConflicts, EitherSourceCounts) {
  CopyConflicts conflicts(6);
  const StateCopyOp conv{.conv_src_block = 5, .temporal_src_block = 0, .dst_block = 1};
  const StateCopyOp temporal{.conv_src_block = 0, .temporal_src_block = 5, .dst_block = 1};
  EXPECT_TRUE(conflicts.found_in(std::vector{copy(2, 5), conv}));
  EXPECT_TRUE(conflicts.found_in(std::vector{copy(2, 5), temporal}));
}

TEST(CopyConflicts, ASourceThatIsNoBlockConflictsWithNothing) {
  CopyConflicts conflicts(6);
  EXPECT_FALSE(conflicts.found_in(std::vector{copy(kPoisonSource, 0), copy(kPoisonSource, 1)}));
}

TEST(CopyConflicts, ALaunchIsForgottenAfterIt) {
  CopyConflicts conflicts(6);
  EXPECT_TRUE(conflicts.found_in(std::vector{copy(0, 1), copy(1, 2)}));
  EXPECT_FALSE(conflicts.found_in(std::vector{copy(1, 3)}));
}

}  // namespace
}  // namespace hybridscope::copy_conflicts_test
