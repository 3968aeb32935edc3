#include "gui/model/word_wrap.h"

#include <gtest/gtest.h>

#include <array>

namespace hybridscope::row_snap_test {
namespace {

// Rows of 30, 50, 20 and 40 pixels.
constexpr std::array<float, 5> kEdges = {0, 30, 80, 100, 140};

float snapped(std::size_t wanted, float scroll, float room) {
  return snapped_scroll({.edges = kEdges, .wanted = wanted, .scroll = scroll, .room = room});
}

TEST(RowSnap, ARowThatIsSeenLeavesTheListWhereItIs) {
  EXPECT_EQ(snapped(1, 0, 80), 0);
  EXPECT_EQ(snapped(2, 30, 100), 30);
}

TEST(RowSnap, ARowAboveComesToTheTop) { EXPECT_EQ(snapped(0, 80, 60), 0); }

// 140 - 70 is inside row 1: row 2 is the first that may be at the top.
TEST(RowSnap, ARowBelowIsSeenAsAWholeUnderAWholeRow) { EXPECT_EQ(snapped(3, 0, 70), 80); }

TEST(RowSnap, ARowThatIsHigherThanTheRoomIsSeenFromItsBeginning) {
  EXPECT_EQ(snapped(1, 0, 40), 30);
}

TEST(RowSnap, AListThatBeginsInsideARowMovesToTheNextOne) { EXPECT_EQ(snapped(2, 10, 120), 30); }

}  // namespace
}  // namespace hybridscope::row_snap_test
