#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/result.h"
#include "gui/model/gui_settings.h"
#include "gui/model/layout_tree.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::layout_tree_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

// pool and batch as tabs | steps above log
LayoutTree three_leaves() {
  return LayoutTree::split(
      {.axis = SplitAxis::horizontal, .ratio = 0.7}, LayoutTree::leaf({"pool", "batch"}),
      LayoutTree::split({.axis = SplitAxis::vertical, .ratio = 0.25}, LayoutTree::leaf({"steps"}),
                        LayoutTree::leaf({"log"})));
}

LayoutLeaf leaf_at(const LayoutTree& tree, std::size_t node) {
  return std::get<LayoutLeaf>(tree.nodes()[node]);
}

LayoutSplit split_at(const LayoutTree& tree, std::size_t node) {
  return std::get<LayoutSplit>(tree.nodes()[node]);
}

TEST(LayoutTree, NodesAreInPreOrder) {
  const LayoutTree tree = three_leaves();
  ASSERT_EQ(tree.nodes().size(), 5U);
  EXPECT_EQ(split_at(tree, 0), (LayoutSplit{SplitAxis::horizontal, 0.7}));
  EXPECT_EQ(leaf_at(tree, 1), (LayoutLeaf{{"pool", "batch"}, 0}));
  EXPECT_EQ(split_at(tree, 2), (LayoutSplit{SplitAxis::vertical, 0.25}));
  EXPECT_EQ(leaf_at(tree, 3), (LayoutLeaf{{"steps"}, 0}));
  EXPECT_EQ(leaf_at(tree, 4), (LayoutLeaf{{"log"}, 0}));
  EXPECT_EQ(tree.second_child(0), 2);
  EXPECT_EQ(tree.second_child(2), 4);
  EXPECT_EQ(tree.depth(0), 0);
  EXPECT_EQ(tree.depth(1), 1);
  EXPECT_EQ(tree.depth(4), 2);
}

TEST(LayoutTree, AnEmptyChildLeavesTheOther) {
  const LayoutTree tree = LayoutTree::split({}, LayoutTree::leaf({}), LayoutTree::leaf({"log"}));
  EXPECT_EQ(tree, LayoutTree::leaf({"log"}));
  EXPECT_TRUE(LayoutTree::split({}, {}, {}).empty());
}

TEST(LayoutTree, APanelStandsInOneLeafOnly) {
  EXPECT_THROW(LayoutTree::leaf({"log", "log"}), ContractViolation);
  EXPECT_THROW(LayoutTree::split({}, LayoutTree::leaf({"log"}), LayoutTree::leaf({"log"})),
               ContractViolation);
}

TEST(LayoutTree, ActiveNamesATab) {
  EXPECT_THROW(LayoutTree::leaf({"log"}, 1), ContractViolation);
  EXPECT_THROW(LayoutTree::leaf({"log"}, -1), ContractViolation);
}

TEST(LayoutTree, RatiosAreBroughtIntoTheirRange) {
  LayoutTree tree =
      LayoutTree::split({.ratio = 0}, LayoutTree::leaf({"pool"}), LayoutTree::leaf({"log"}));
  EXPECT_EQ(split_at(tree, 0).ratio, 0.05);
  tree.set_ratio(0, 2);
  EXPECT_EQ(split_at(tree, 0).ratio, 0.95);
  tree.set_ratio(0, 0.4);
  EXPECT_EQ(split_at(tree, 0).ratio, 0.4);
}

TEST(LayoutTree, ANumberThatNamesNoNodeOfTheKindBreaksTheContract) {
  LayoutTree tree = three_leaves();
  EXPECT_THROW(tree.set_ratio(1, 0.5), ContractViolation);
  EXPECT_THROW(tree.set_ratio(5, 0.5), ContractViolation);
  EXPECT_THROW(tree.move_panel("log", {.leaf = 2}), ContractViolation);
  EXPECT_THROW(tree.second_child(1), ContractViolation);
  EXPECT_THROW(tree.depth(-1), ContractViolation);
}

TEST(LayoutTree, PanelsAreListedFromLeftToRightAndDown) {
  EXPECT_THAT(three_leaves().panels(), ElementsAre("pool", "batch", "steps", "log"));
  EXPECT_THAT(LayoutTree().panels(), IsEmpty());
}

TEST(LayoutTree, FindsTheLeafOfAPanel) {
  const LayoutTree tree = three_leaves();
  EXPECT_THAT(tree.leaf_of("batch"), Optional(1));
  EXPECT_THAT(tree.leaf_of("log"), Optional(4));
  EXPECT_EQ(tree.leaf_of("graph"), std::nullopt);
  EXPECT_TRUE(tree.is_active("pool"));
  EXPECT_FALSE(tree.is_active("batch"));
  EXPECT_FALSE(tree.is_active("graph"));
}

TEST(LayoutTreeShow, InAnEmptyTreeThePanelIsTheRoot) {
  LayoutTree tree;
  tree.show_panel("log");
  EXPECT_EQ(tree, LayoutTree::leaf({"log"}));
}

TEST(LayoutTreeShow, AShownPanelComesToTheFrontWhereItIs) {
  LayoutTree tree = three_leaves();
  tree.show_panel("batch", 4);
  EXPECT_THAT(tree.leaf_of("batch"), Optional(1));
  EXPECT_TRUE(tree.is_active("batch"));
}

TEST(LayoutTreeShow, ANewPanelGoesBehindTheTabsOfTheGivenLeafAndToTheFront) {
  LayoutTree tree = three_leaves();
  tree.show_panel("graph", 4);
  EXPECT_EQ(leaf_at(tree, 4), (LayoutLeaf{{"log", "graph"}, 1}));
}

// Shares: pool and batch 0.4, steps 0.6 * 0.25 = 0.15, log 0.6 * 0.75 = 0.45.
TEST(LayoutTreeShow, WithoutALeafTheOneWithTheLargestShareIsTaken) {
  LayoutTree tree = three_leaves();
  tree.set_ratio(0, 0.4);
  tree.show_panel("graph");
  EXPECT_THAT(tree.leaf_of("graph"), Optional(4));
}

TEST(LayoutTreeHide, TheSiblingOfAnEmptyLeafTakesThePlaceOfBoth) {
  LayoutTree tree = three_leaves();
  tree.hide_panel("steps");
  EXPECT_EQ(tree,
            LayoutTree::split({.axis = SplitAxis::horizontal, .ratio = 0.7},
                              LayoutTree::leaf({"pool", "batch"}), LayoutTree::leaf({"log"})));
}

TEST(LayoutTreeHide, ASiblingCanBeASplit) {
  LayoutTree tree = three_leaves();
  tree.hide_panel("pool");
  tree.hide_panel("batch");
  EXPECT_EQ(tree, LayoutTree::split({.axis = SplitAxis::vertical, .ratio = 0.25},
                                    LayoutTree::leaf({"steps"}), LayoutTree::leaf({"log"})));
}

TEST(LayoutTreeHide, TheLastPanelLeavesAnEmptyTree) {
  LayoutTree tree = LayoutTree::leaf({"log"});
  tree.hide_panel("log");
  EXPECT_TRUE(tree.empty());
}

TEST(LayoutTreeHide, APanelThatIsNotThereChangesNothing) {
  LayoutTree tree = three_leaves();
  tree.hide_panel("graph");
  tree.activate("graph");
  EXPECT_EQ(tree, three_leaves());
}

struct HiddenTab {
  std::int32_t active;
  const char* hidden;
  const char* expected_active;
};

TEST(LayoutTreeHide, TheTabBehindAHiddenOneComesToTheFrontOrTheLast) {
  for (const HiddenTab& row :
       {HiddenTab{0, "a", "b"}, HiddenTab{1, "b", "c"}, HiddenTab{2, "c", "b"},
        HiddenTab{2, "a", "c"}, HiddenTab{0, "c", "a"}, HiddenTab{1, "a", "b"}}) {
    LayoutTree tree = LayoutTree::leaf({"a", "b", "c"}, row.active);
    tree.hide_panel(row.hidden);
    EXPECT_TRUE(tree.is_active(row.expected_active)) << row.active << " without " << row.hidden;
  }
}

TEST(LayoutTreeMove, ToAnotherLeafAsATabInFront) {
  LayoutTree tree = three_leaves();
  tree.move_panel("pool", {.leaf = 4});
  EXPECT_EQ(leaf_at(tree, 1), (LayoutLeaf{{"batch"}, 0}));
  EXPECT_EQ(leaf_at(tree, 4), (LayoutLeaf{{"log", "pool"}, 1}));
}

TEST(LayoutTreeMove, TheTargetIsFoundAlthoughTheOldLeafVanishes) {
  LayoutTree tree = three_leaves();
  tree.move_panel("steps", {.leaf = 4, .tab = 0});
  EXPECT_EQ(tree, LayoutTree::split({.axis = SplitAxis::horizontal, .ratio = 0.7},
                                    LayoutTree::leaf({"pool", "batch"}),
                                    LayoutTree::leaf({"steps", "log"})));
}

struct Side {
  LeafPlace place;
  SplitAxis axis;
  bool first;
};

TEST(LayoutTreeMove, ToASideTakesHalfOfTheLeaf) {
  for (const Side& side : {Side{LeafPlace::left, SplitAxis::horizontal, true},
                           Side{LeafPlace::right, SplitAxis::horizontal, false},
                           Side{LeafPlace::top, SplitAxis::vertical, true},
                           Side{LeafPlace::bottom, SplitAxis::vertical, false}}) {
    LayoutTree tree = LayoutTree::leaf({"pool", "log"});
    tree.move_panel("log", {.leaf = 0, .place = side.place});
    const LayoutTree log = LayoutTree::leaf({"log"});
    const LayoutTree pool = LayoutTree::leaf({"pool"});
    EXPECT_EQ(tree, LayoutTree::split({.axis = side.axis, .ratio = 0.5}, side.first ? log : pool,
                                      side.first ? pool : log));
  }
}

TEST(LayoutTreeMove, APanelIsNotSplitFromItself) {
  LayoutTree tree = three_leaves();
  tree.move_panel("log", {.leaf = 4, .place = LeafPlace::left});
  tree.move_panel("log", {.leaf = 4});
  EXPECT_EQ(tree, three_leaves());
}

TEST(LayoutTreeMove, InItsOwnLeafATabChangesItsPlace) {
  LayoutTree tree = LayoutTree::leaf({"a", "b", "c"});
  tree.move_panel("a", {.leaf = 0, .tab = 1});
  EXPECT_EQ(tree, LayoutTree::leaf({"b", "a", "c"}, 1));
  tree.move_panel("a", {.leaf = 0, .tab = 7});
  EXPECT_EQ(tree, LayoutTree::leaf({"b", "c", "a"}, 2));
}

TEST(LayoutTreeMove, APanelThatIsNotShownIsAddedAtTheTarget) {
  LayoutTree tree = LayoutTree::leaf({"pool"});
  tree.move_panel("log", {.leaf = 0, .place = LeafPlace::bottom});
  EXPECT_EQ(tree, LayoutTree::split({.axis = SplitAxis::vertical, .ratio = 0.5},
                                    LayoutTree::leaf({"pool"}), LayoutTree::leaf({"log"})));
}

TEST(LayoutTreeMove, AtTheGreatestDepthASplitBecomesATab) {
  LayoutTree tree = LayoutTree::leaf({"p0"});
  for (int i = 1; i <= 33; ++i)
    tree.move_panel(
        "p" + std::to_string(i),
        {.leaf = static_cast<std::int32_t>(tree.nodes().size()) - 1, .place = LeafPlace::right});
  EXPECT_EQ(tree.nodes().size(), 2U * 32 + 1);
  EXPECT_EQ(leaf_at(tree, 64), (LayoutLeaf{{"p32", "p33"}, 1}));
}

TEST(LayoutTree, ACopyIsTheStateToGoBackTo) {
  LayoutTree tree = three_leaves();
  const LayoutTree before = tree;
  tree.move_panel("log", {.leaf = 1, .place = LeafPlace::top});
  EXPECT_FALSE(tree == before);
  tree = before;
  EXPECT_EQ(tree, three_leaves());
}

using ::testing::HasSubstr;

bool any_panel(std::string_view) { return true; }

LayoutTree two_tabs() { return LayoutTree::leaf({"pool", "log"}, 1); }

TEST(LayoutStore, WhatIsSavedIsLoadedUnderItsName) {
  const test::TemporaryFolder folder;
  const LayoutStore store(folder / "state/layouts");
  ASSERT_TRUE(store.save("wide", two_tabs()).ok());
  ASSERT_TRUE(store.save("wide", LayoutTree::leaf({"log"})).ok());
  ASSERT_TRUE(store.save("tall", two_tabs()).ok());
  EXPECT_EQ(store.load("wide", any_panel).value().tree, LayoutTree::leaf({"log"}));
  EXPECT_EQ(store.load("tall", any_panel).value().tree, two_tabs());
}

TEST(LayoutStore, NamesAreThoseOfLayoutsInOrder) {
  const test::TemporaryFolder folder;
  for (const char* file : {"wide.json", "Tall.json", "v1.2.json", ".hidden.json", "notes.txt",
                           "wide.json.77.part", "caf\xC3\xA9.json", ".json"})
    folder.write(file, "");
  std::filesystem::create_directory(folder / "folder.json");
  EXPECT_THAT(LayoutStore(folder.path()).names().value(), ElementsAre("Tall", "v1.2", "wide"));
}

TEST(LayoutStore, WithoutTheFolderThereAreNone) {
  const test::TemporaryFolder folder;
  EXPECT_THAT(LayoutStore(folder / "nowhere").names().value(), IsEmpty());
}

TEST(LayoutStore, AFolderThatCannotBeReadIsAnError) {
  const test::TemporaryFolder folder;
  folder.write("layouts", "");
  const auto names = LayoutStore(folder / "layouts").names();
  ASSERT_FALSE(names.ok());
  EXPECT_EQ(names.error().kind, ErrorKind::io);
  EXPECT_FALSE(LayoutStore(folder / "layouts").save("wide", two_tabs()).ok());
}

TEST(LayoutStore, AMissingLayoutIsNotFound) {
  const test::TemporaryFolder folder;
  const LayoutStore store(folder.path());
  for (const Error& error : {store.load("wide", any_panel).error(), store.remove("wide").error()}) {
    EXPECT_EQ(error.kind, ErrorKind::not_found);
    EXPECT_EQ(error.message, "there is no layout \"wide\" in " + folder.path());
  }
}

TEST(LayoutStore, ARemovedLayoutIsGone) {
  const test::TemporaryFolder folder;
  const LayoutStore store(folder.path());
  ASSERT_TRUE(store.save("wide", two_tabs()).ok());
  ASSERT_TRUE(store.remove("wide").ok());
  EXPECT_THAT(store.names().value(), IsEmpty());
}

TEST(LayoutStore, NamesNoFileOutsideItsFolder) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "layouts");
  folder.write("wide.json", "kept");
  const LayoutStore store(folder / "layouts");
  EXPECT_EQ(store.load("../wide", any_panel).error().kind, ErrorKind::invalid_input);
  EXPECT_EQ(store.save("../wide", two_tabs()).error().kind, ErrorKind::invalid_input);
  EXPECT_EQ(store.remove("../wide").error().kind, ErrorKind::invalid_input);
  EXPECT_EQ(folder.read("wide.json"), "kept");
}

TEST(LayoutStore, ABrokenLayoutIsAnErrorThatNamesTheFile) {
  const test::TemporaryFolder folder;
  folder.write("wide.json", R"({"version": 1, "layout": 7})");
  const auto loaded = LayoutStore(folder.path()).load("wide", any_panel);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().message,
            (folder / "wide.json") + ": /layout: expected an object, found 7");
}

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

}  // namespace hybridscope::layout_tree_test
