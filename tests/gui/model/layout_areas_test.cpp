#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/result.h"
#include "gui/model/layout_tree.h"
#include "tests/support/property.h"

namespace hybridscope::layout_areas_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr LayoutMetrics kMetrics{.splitter = 4, .min_leaf = {.width = 100, .height = 50}};

LayoutTree side_by_side(double ratio) {
  return LayoutTree::split({.axis = SplitAxis::horizontal, .ratio = ratio},
                           LayoutTree::leaf({"pool"}), LayoutTree::leaf({"log"}));
}

TEST(LayoutAreas, ALeafAloneHasAllOfIt) {
  const LayoutAreas areas = place_layout(LayoutTree::leaf({"log"}), {10, 20, 800, 600}, kMetrics);
  EXPECT_THAT(areas.leaves, ElementsAre(LeafArea{0, {10, 20, 800, 600}}));
  EXPECT_THAT(areas.splitters, IsEmpty());
}

TEST(LayoutAreas, AnEmptyTreeHasNone) {
  EXPECT_THAT(place_layout({}, {0, 0, 800, 600}, kMetrics).leaves, IsEmpty());
}

// 804 - 4 pixels are divided 200 : 600.
TEST(LayoutAreas, AHorizontalSplitDividesWhatTheSplitterLeavesOfTheWidth) {
  const LayoutAreas areas = place_layout(side_by_side(0.25), {10, 20, 804, 600}, kMetrics);
  EXPECT_THAT(areas.leaves,
              ElementsAre(LeafArea{1, {10, 20, 200, 600}}, LeafArea{2, {214, 20, 600, 600}}));
  EXPECT_THAT(areas.splitters,
              ElementsAre(SplitterArea{0, SplitAxis::horizontal, {210, 20, 4, 600}}));
}

TEST(LayoutAreas, AVerticalSplitDividesTheHeight) {
  const LayoutTree tree = LayoutTree::split({.axis = SplitAxis::vertical, .ratio = 0.5},
                                            LayoutTree::leaf({"a"}), LayoutTree::leaf({"b"}));
  const LayoutAreas areas = place_layout(tree, {0, 0, 300, 205}, kMetrics);
  EXPECT_THAT(areas.leaves,
              ElementsAre(LeafArea{1, {0, 0, 300, 101}}, LeafArea{2, {0, 105, 300, 100}}));
  EXPECT_THAT(areas.splitters, ElementsAre(SplitterArea{0, SplitAxis::vertical, {0, 101, 300, 4}}));
}

TEST(LayoutAreas, ARatioGivesWayToTheMinimumOfALeaf) {
  const LayoutAreas areas = place_layout(side_by_side(0.05), {0, 0, 404, 300}, kMetrics);
  EXPECT_EQ(areas.leaves[0].area, (LayoutRect{0, 0, 100, 300}));
  EXPECT_EQ(areas.leaves[1].area, (LayoutRect{104, 0, 300, 300}));
}

// a | (b | c) over d: 100 + 4 + max(100 + 4 + 100, 100) wide, max(50, 50 + 4 + 50) high.
TEST(LayoutAreas, TheMinimaAddUpAlongASplitAndTheLargerCountsAcross) {
  const LayoutTree right =
      LayoutTree::split({.axis = SplitAxis::vertical},
                        LayoutTree::split({.axis = SplitAxis::horizontal}, LayoutTree::leaf({"b"}),
                                          LayoutTree::leaf({"c"})),
                        LayoutTree::leaf({"d"}));
  const LayoutTree tree = LayoutTree::split({}, LayoutTree::leaf({"a"}), right);
  EXPECT_THAT(place_layout(tree, {0, 0, 308, 104}, kMetrics).leaves,
              ElementsAre(LeafArea{1, {0, 0, 100, 104}}, LeafArea{4, {104, 0, 100, 50}},
                          LeafArea{5, {208, 0, 100, 50}}, LeafArea{6, {104, 54, 204, 50}}));
}

// (a | b) | c in 208 pixels: 204 are divided 204 : 100 (the minima), so 136 to 68.
TEST(LayoutAreas, WhereTheMinimaDoNotFitTheyShrinkInProportion) {
  const LayoutTree tree = LayoutTree::split({}, side_by_side(0.5), LayoutTree::leaf({"c"}));
  const LayoutAreas areas = place_layout(tree, {0, 0, 208, 300}, kMetrics);
  EXPECT_EQ(areas.leaves[0].area, (LayoutRect{0, 0, 66, 300}));
  EXPECT_EQ(areas.leaves[1].area, (LayoutRect{70, 0, 66, 300}));
  EXPECT_EQ(areas.leaves[2].area, (LayoutRect{140, 0, 68, 300}));
}

TEST(LayoutAreas, NothingIsLeftOfAWindowNarrowerThanItsSplitter) {
  const LayoutAreas areas = place_layout(side_by_side(0.5), {0, 0, 3, 300}, kMetrics);
  EXPECT_EQ(areas.leaves[0].area, (LayoutRect{0, 0, 0, 300}));
  EXPECT_EQ(areas.splitters[0].area, (LayoutRect{0, 0, 3, 300}));
  EXPECT_EQ(areas.leaves[1].area, (LayoutRect{3, 0, 0, 300}));
}

TEST(LayoutAreas, NegativeSizesBreakTheContract) {
  EXPECT_THROW(place_layout({}, {0, 0, -1, 10}, kMetrics), ContractViolation);
  EXPECT_THROW(place_layout({}, {0, 0, 1, 10}, {.splitter = -1}), ContractViolation);
}

double dragged_to(std::int32_t position) {
  return dragged_ratio(
      side_by_side(0.5),
      {.split = 0, .position = position, .area = {10, 0, 804, 600}, .metrics = kMetrics});
}

TEST(SplitterDrag, TheSplitterBeginsAtThePosition) {
  EXPECT_DOUBLE_EQ(dragged_to(210), 0.25);
  EXPECT_DOUBLE_EQ(dragged_to(410), 0.5);
}

// At least 100 of 800 pixels on either side.
TEST(SplitterDrag, StopsAtTheMinimumOfALeaf) {
  EXPECT_DOUBLE_EQ(dragged_to(-500), 0.125);
  EXPECT_DOUBLE_EQ(dragged_to(50), 0.125);
  EXPECT_DOUBLE_EQ(dragged_to(5000), 0.875);
}

TEST(SplitterDrag, StopsAtTheRangeOfRatios) {
  const double ratio =
      dragged_ratio(side_by_side(0.5),
                    {.split = 0, .position = 0, .area = {0, 0, 4004, 600}, .metrics = kMetrics});
  EXPECT_DOUBLE_EQ(ratio, 0.05);
}

// It begins at x = 404 and has 400 pixels, of which 396 are divided.
TEST(SplitterDrag, AnInnerSplitterIsMeasuredFromItsOwnArea) {
  const LayoutTree tree =
      LayoutTree::split({.ratio = 0.5}, LayoutTree::leaf({"a"}), side_by_side(0.5));
  EXPECT_DOUBLE_EQ(
      dragged_ratio(tree,
                    {.split = 2, .position = 554, .area = {0, 0, 804, 600}, .metrics = kMetrics}),
      150.0 / 396);
}

TEST(SplitterDrag, ALeafIsNoSplitter) {
  EXPECT_THROW(dragged_ratio(side_by_side(0.5), {.split = 1}), ContractViolation);
}

// By random changes, of up to eight panels.
LayoutTree random_tree() {
  LayoutTree tree;
  const std::int32_t num_changes = test::draw(0, 20);
  for (std::int32_t i = 0; i < num_changes; ++i) {
    const std::string panel(1, static_cast<char>('a' + test::draw(0, 7)));
    const std::vector<std::string> panels = tree.panels();
    const auto num_panels = static_cast<std::int32_t>(panels.size());
    if (tree.empty())
      tree.show_panel(panel);
    else if (test::one_in(4))
      tree.hide_panel(panel);
    else
      tree.move_panel(
          panel,
          {.leaf = *tree.leaf_of(panels[static_cast<std::size_t>(test::draw(0, num_panels - 1))]),
           .place = static_cast<LeafPlace>(test::draw(0, 4))});
    for (std::size_t node = 0; node < tree.nodes().size(); ++node)
      if (std::holds_alternative<LayoutSplit>(tree.nodes()[node]))
        tree.set_ratio(static_cast<std::int32_t>(node), test::draw(0, 100) / 100.0);
  }
  return tree;
}

std::vector<LayoutRect> all_areas(const LayoutAreas& placed) {
  std::vector<LayoutRect> areas;
  for (const LeafArea& leaf : placed.leaves) areas.push_back(leaf.area);
  for (const SplitterArea& splitter : placed.splitters) areas.push_back(splitter.area);
  return areas;
}

bool overlap(const LayoutRect& a, const LayoutRect& b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height &&
         b.y < a.y + a.height && a.width > 0 && a.height > 0 && b.width > 0 && b.height > 0;
}

TEST(LayoutAreasProperty, LeavesAndSplittersCoverTheAreaOnce) {
  test::check_property(500, [] {
    const LayoutTree tree = random_tree();
    const LayoutRect whole{test::draw(-50, 50), test::draw(-50, 50), test::draw(0, 1500),
                           test::draw(0, 900)};
    const std::vector<LayoutRect> areas = all_areas(place_layout(tree, whole, kMetrics));
    std::int64_t covered = 0;
    for (std::size_t i = 0; i < areas.size(); ++i) {
      const LayoutRect& area = areas[i];
      covered += std::int64_t{area.width} * area.height;
      RC_ASSERT(area.width >= 0 && area.height >= 0);
      RC_ASSERT(area.x >= whole.x && area.x + area.width <= whole.x + whole.width);
      RC_ASSERT(area.y >= whole.y && area.y + area.height <= whole.y + whole.height);
      for (std::size_t other = 0; other < i; ++other) RC_ASSERT(!overlap(area, areas[other]));
    }
    RC_ASSERT(tree.empty() || covered == std::int64_t{whole.width} * whole.height);
  });
}

// The smallest area in which every leaf of the subtree at `node` has its minimum.
LayoutSize least_area(const LayoutTree& tree, std::int32_t node) {
  const auto* split = std::get_if<LayoutSplit>(&tree.nodes()[static_cast<std::size_t>(node)]);
  if (split == nullptr) return kMetrics.min_leaf;
  const LayoutSize first = least_area(tree, node + 1);
  const LayoutSize second = least_area(tree, tree.second_child(node));
  if (split->axis == SplitAxis::horizontal)
    return {first.width + 4 + second.width, std::max(first.height, second.height)};
  return {std::max(first.width, second.width), first.height + 4 + second.height};
}

TEST(LayoutAreasProperty, WhereTheMinimaFitEveryLeafHasItsOwn) {
  test::check_property(500, [] {
    const LayoutTree tree = random_tree();
    const LayoutSize least = tree.empty() ? LayoutSize{} : least_area(tree, 0);
    const LayoutRect whole{0, 0, least.width + test::draw(0, 300), least.height + test::draw(0, 9)};
    for (const LeafArea& leaf : place_layout(tree, whole, kMetrics).leaves)
      RC_ASSERT(leaf.area.width >= 100 && leaf.area.height >= 50);
  });
}

TEST(LayoutAreasProperty, APanelStandsInOneLeafWhateverIsMoved) {
  test::check_property(300, [] {
    const LayoutTree tree = random_tree();
    std::vector<std::string> panels = tree.panels();
    std::sort(panels.begin(), panels.end());
    RC_ASSERT(std::adjacent_find(panels.begin(), panels.end()) == panels.end());
    for (const LayoutNode& node : tree.nodes())
      if (const auto* leaf = std::get_if<LayoutLeaf>(&node))
        RC_ASSERT(leaf->active >= 0 &&
                  static_cast<std::size_t>(leaf->active) < leaf->panels.size());
  });
}

// Within the pixels that minima and the range of ratios allow.
TEST(LayoutAreasProperty, ASplitterStaysWhereItWasDraggedTo) {
  test::check_property(300, [] {
    const std::int32_t width = test::draw(300, 3000);
    const LayoutRect whole{0, 0, width, 100};
    const std::int32_t divided = width - 4;
    const std::int32_t least = std::max(100, divided / 20 + 1);
    const std::int32_t position = test::draw(least, divided - least);
    LayoutTree tree = side_by_side(0.5);
    tree.set_ratio(0, dragged_ratio(tree, {0, position, whole, kMetrics}));
    RC_ASSERT(place_layout(tree, whole, kMetrics).splitters[0].area.x == position);
  });
}

using ::testing::HasSubstr;

bool is_known(std::string_view panel) { return panel != "graph" && panel != "old"; }

Result<ReadLayout> read(std::string_view layout) {
  return read_layout(R"({"version": 1, "layout": )" + std::string(layout) + "}", "wide.json",
                     is_known);
}

std::string error_of(std::string_view layout) {
  const auto result = read(layout);
  return result.ok() ? "no error" : result.error().message;
}

LayoutTree pool_and_log(double ratio) {
  return LayoutTree::split({.axis = SplitAxis::horizontal, .ratio = ratio},
                           LayoutTree::leaf({"pool", "batch"}, 1), LayoutTree::leaf({"log"}));
}

TEST(LayoutJson, IsWrittenWithItsVersionAndTheNameOfTheTabInFront) {
  EXPECT_EQ(layout_to_json(pool_and_log(0.7)), R"({
  "version": 1,
  "layout": {
    "split": "horizontal",
    "ratio": 0.7,
    "first": {
      "panels": [
        "pool",
        "batch"
      ],
      "active": "batch"
    },
    "second": {
      "panels": [
        "log"
      ],
      "active": "log"
    }
  }
}
)");
}

TEST(LayoutJson, WhatIsWrittenIsReadAsTheSame) {
  const LayoutTree below = LayoutTree::split({.axis = SplitAxis::vertical, .ratio = 1.0 / 3},
                                             pool_and_log(0.1), LayoutTree::leaf({"steps"}));
  for (const LayoutTree& tree : {LayoutTree(), LayoutTree::leaf({"pool"}), below}) {
    const auto result = read_layout(layout_to_json(tree), "wide.json", is_known);
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(result.value().tree, tree);
    EXPECT_THAT(result.value().notes, IsEmpty());
  }
}

TEST(LayoutJson, WithoutActiveTheFirstTabIsInFront) {
  const auto result = read(R"({"panels": ["pool", "batch"]})");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value().tree, LayoutTree::leaf({"pool", "batch"}));
}

TEST(LayoutJson, AnUnknownPanelIsLeftOutWithANote) {
  const auto result = read(R"({"panels": ["pool", "graph", "batch"], "active": "batch"})");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value().tree, LayoutTree::leaf({"pool", "batch"}, 1));
  EXPECT_THAT(result.value().notes,
              ElementsAre("wide.json: /layout/panels/1: there is no panel \"graph\"; it was left "
                          "out"));
}

TEST(LayoutJson, ALeafOfUnknownPanelsLeavesItsPlaceToItsSibling) {
  const auto result = read(R"({"split": "vertical", "ratio": 0.5, "first": {"panels": ["log"]},
                               "second": {"panels": ["old", "graph"], "active": "graph"}})");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value().tree, LayoutTree::leaf({"log"}));
  EXPECT_EQ(result.value().notes.size(), 2U);
}

TEST(LayoutJson, AnotherVersionIsRefused) {
  const auto result = read_layout(R"({"version": 2, "layout": null})", "wide.json", is_known);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "wide.json: /version: layout version 2 (expected 1)");
}

TEST(LayoutJson, TextThatIsNoJsonIsCorrupt) {
  const auto result = read_layout("{", "wide.json", is_known);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::corrupt);
  EXPECT_THAT(result.error().message, HasSubstr("wide.json:1:"));
}

struct BrokenLayout {
  const char* layout;
  const char* message;
};

TEST(LayoutJson, WhatIsBrokenIsRefusedWithPlaceFoundAndExpected) {
  const BrokenLayout rows[] = {
      {"7", "wide.json: /layout: expected an object, found 7"},
      {"{}", "wide.json: /layout: key \"panels\" is missing"},
      {R"({"panels": ["log"], "activ": "log"})",
       "wide.json: /layout/activ: unknown key \"activ\", did you mean \"active\"?"},
      {R"({"panels": "log"})", "wide.json: /layout/panels: expected an array, found \"log\""},
      {R"({"panels": ["log", 3]})", "wide.json: /layout/panels/1: expected a string, found 3"},
      {R"({"panels": ["log", ""]})",
       "wide.json: /layout/panels/1: expected 1 to 64 bytes, found 0"},
      {R"({"panels": ["log", "log"]})",
       "wide.json: /layout/panels/1: panel \"log\" is in the layout twice "
       "(expected once)"},
      {R"({"panels": ["log"], "active": "pool"})",
       "wide.json: /layout/active: expected one of the panels of this leaf, found "
       "\"pool\""},
      {R"({"split": "diagonal", "ratio": 0.5, "first": {"panels": ["log"]},
                         "second": {"panels": ["pool"]}})",
       "wide.json: /layout/split: expected \"horizontal\" or \"vertical\", found "
       "\"diagonal\""},
      {R"({"split": "vertical", "ratio": 1, "first": {"panels": ["log"]},
                         "second": {"panels": ["pool"]}})",
       "wide.json: /layout/ratio: expected a number from 0.05 to 0.95, found 1"},
      {R"({"split": "vertical", "ratio": "0.5", "first": {"panels": ["log"]},
                         "second": {"panels": ["pool"]}})",
       "wide.json: /layout/ratio: expected a number from 0.05 to 0.95, found "
       "\"0.5\""},
      {R"({"split": "vertical", "ratio": 0.5, "first": {"panels": ["log"]}})",
       "wide.json: /layout: key \"second\" is missing"},
      {R"({"split": "vertical", "ratio": 0.5, "first": {"panels": ["log"]},
                         "second": {"panels": ["log"]}})",
       "wide.json: /layout/second/panels/0: panel \"log\" is in the layout "
       "twice (expected once)"}};
  for (const BrokenLayout& row : rows) {
    EXPECT_EQ(error_of(row.layout), row.message);
  }
}

// `depth` splits, each in the second child of the one before.
std::string nested(int depth) {
  std::string text;
  for (int i = 0; i < depth; ++i)
    text += R"({"split": "vertical", "ratio": 0.5, "first": {"panels": ["p)" + std::to_string(i) +
            R"("]}, "second": )";
  return text + R"({"panels": ["last"]})" + std::string(static_cast<std::size_t>(depth), '}');
}

TEST(LayoutJson, NestingIsBounded) {
  EXPECT_EQ(error_of(nested(32)), "no error");
  EXPECT_THAT(error_of(nested(33)), HasSubstr("a split below 32 others (expected at most 32"));
}

TEST(LayoutJson, TheNumberOfPanelsIsBoundedKnownOrNot) {
  std::string panels = R"("graph")";
  for (int i = 1; i < 256; ++i) panels += ", \"p" + std::to_string(i) + "\"";
  EXPECT_EQ(error_of(R"({"panels": [)" + panels + "]}"), "no error");
  EXPECT_EQ(error_of(R"({"panels": [)" + panels + R"(, "old"]})"),
            "wide.json: /layout/panels/256: more than 256 panels (expected at most as many)");
}

}  // namespace

}  // namespace hybridscope::layout_areas_test
