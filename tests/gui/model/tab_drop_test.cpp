#include "gui/model/layout_areas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hybridscope::tab_drop_test {
namespace {

// pool and log side by side, 400 and 400 pixels wide and 200 high, log with two tabs.
class TabDropped : public testing::Test {
 protected:
  std::optional<TabDrop> drop(std::string_view panel, std::int32_t x, std::int32_t y) const {
    return tab_drop(tree_, place_layout(tree_, {0, 0, 804, 200}, {.splitter = 4}),
                    {.panel = panel, .x = x, .y = y, .bar_height = 30}, tabs_);
  }
  std::string argument(std::string_view panel, std::int32_t x, std::int32_t y) const {
    const auto found = drop(panel, x, y);
    return found ? found->argument : "nothing";
  }

  LayoutTree tree_ =
      LayoutTree::split({.axis = SplitAxis::horizontal, .ratio = 0.5}, LayoutTree::leaf({"pool"}),
                        LayoutTree::leaf({"log", "findings"}));
  std::vector<TabBox> tabs_ = {
      {"pool", {4, 4, 60, 22}}, {"log", {410, 4, 40, 22}}, {"findings", {452, 4, 80, 22}}};
};

TEST_F(TabDropped, NearAnEdgeTakesTheHalfAtThatEdge) {
  EXPECT_EQ(argument("pool", 420, 100), "pool log left");
  EXPECT_EQ(argument("pool", 790, 100), "pool log right");
  EXPECT_EQ(argument("pool", 600, 40), "pool log top");
  EXPECT_EQ(argument("pool", 600, 190), "pool log bottom");
  EXPECT_EQ(drop("pool", 420, 100)->preview, (LayoutRect{404, 0, 200, 200}));
  EXPECT_EQ(drop("pool", 600, 190)->preview, (LayoutRect{404, 100, 400, 100}));
}

TEST_F(TabDropped, InTheMiddleOfAnotherLeafBecomesItsLastTab) {
  EXPECT_EQ(argument("pool", 600, 100), "pool log tab");
  EXPECT_EQ(drop("pool", 600, 100)->preview, (LayoutRect{404, 0, 400, 200}));
}

TEST_F(TabDropped, OnABarGoesBetweenTheTabsWhereTheMouseIs) {
  EXPECT_EQ(argument("pool", 415, 10), "pool log before");
  EXPECT_EQ(argument("pool", 440, 10), "pool findings before");
  EXPECT_EQ(argument("pool", 700, 10), "pool findings tab");
  EXPECT_EQ(drop("pool", 440, 10)->gap, (LayoutRect{448, 4, 4, 22}));
}

TEST_F(TabDropped, TabsOfOneLeafChangePlaces) {
  EXPECT_EQ(argument("findings", 415, 10), "findings log before");
  EXPECT_EQ(argument("log", 700, 10), "log findings tab");
}

TEST_F(TabDropped, ItsOwnLeafCanBeSplit) {
  EXPECT_EQ(argument("findings", 600, 190), "findings log bottom");
  EXPECT_EQ(argument("log", 600, 190), "log log bottom");
}

TEST_F(TabDropped, WhereItWouldStayThereIsNoPlace) {
  EXPECT_EQ(argument("pool", 100, 100), "nothing");
  EXPECT_EQ(argument("pool", 10, 10), "nothing");
  EXPECT_EQ(argument("log", 600, 100), "nothing");
}

TEST_F(TabDropped, OutsideAllLeavesThereIsNoPlace) {
  EXPECT_EQ(argument("pool", 402, 100), "nothing");  // the splitter
  EXPECT_EQ(argument("pool", 100, 300), "nothing");
}

}  // namespace
}  // namespace hybridscope::tab_drop_test
