#include "gui/model/layout_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hybridscope::layout_json_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
}  // namespace hybridscope::layout_json_test
