#include "gui/model/content_render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hybridscope::content_render_test {
namespace {

using testing::HasSubstr;

// A panel with a table of every kind of cell and one without rows.
PanelDocument small_document() {
  const Table counts{
      .title = "Counts",
      .note = "of two requests",
      .headings = {"Request", "c", "Done"},
      .rows = {{std::string("A"), std::int64_t{6}, true}, {std::string("B|b"), {}, false}}};
  return {.panel = "counts",
          .title = "Counts of requests",
          .selection = {.request = {0}, .group = 1, .column = 0},
          .request = "A",
          .group = "group 1 (mamba2)",
          .runs = {{"plain decode",
                    3,
                    {.notes = {"first\nsecond"},
                     .tables = {counts, {.title = "Nothing", .headings = {"Block"}}}}}}};
}

TEST(ContentText, AlignsColumnsAndPutsNumbersRight) {
  EXPECT_EQ(content_text(small_document()),
            "Counts of requests\n"
            "plain decode, step 3\n"
            "selected: request A, group 1 (mamba2), column 0\n"
            "\n"
            "first second\n"
            "\n"
            "Counts\n"
            "of two requests\n"
            "Request  c  Done\n"
            "A        6  yes\n"
            "B|b         no\n"
            "\n"
            "Nothing\n"
            "(none)\n");
}

TEST(ContentText, CountsCharactersNotBytes) {
  PanelDocument document = small_document();
  document.runs[0].content = {.tables = {{.title = "T",
                                          .headings = {"Name", "n"},
                                          .rows = {{std::string("\xC3\xA9"), std::int64_t{12}}}}}};
  EXPECT_THAT(content_text(document), HasSubstr("\nName   n\n\xC3\xA9     12\n"));
}

TEST(ContentText, BothSidesOfAComparisonHaveTheirLetter) {
  PanelDocument document = small_document();
  document.runs = {{"one", 3, {.notes = {"x"}}}, {"two", 2, {.notes = {"y"}}}};
  EXPECT_THAT(content_text(document), HasSubstr("A: one, step 3\n"));
  EXPECT_THAT(content_text(document), HasSubstr("\nx\n\nB: two, step 2\n\ny\n"));
}

TEST(ContentMarkdown, EscapesPipesAndLineEnds) {
  EXPECT_EQ(content_markdown(small_document()),
            "## Counts of requests\n"
            "\n"
            "plain decode, step 3; selected: request A, group 1 (mamba2), column 0\n"
            "\n"
            "first<br>second\n"
            "\n"
            "### Counts\n"
            "\n"
            "of two requests\n"
            "\n"
            "| Request | c | Done |\n"
            "|---|---:|---|\n"
            "| A | 6 | yes |\n"
            "| B\\|b |  | no |\n"
            "\n"
            "### Nothing\n"
            "\n"
            "(none)\n");
}

TEST(ContentMarkdown, WhatWouldBeMarkupIsText) {
  PanelDocument document = small_document();
  document.title = "a*b <i> `c` \\d\te";
  EXPECT_THAT(content_markdown(document), HasSubstr("## a\\*b &lt;i> \\`c\\` \\\\d e\n"));
}

TEST(ContentMarkdown, LinesAsTheyStandAreFenced) {
  PanelDocument document = small_document();
  document.runs[0].content = {.text = "Step 3\n  ``` in it"};
  EXPECT_THAT(content_markdown(document), HasSubstr("\n````\nStep 3\n  ``` in it\n````\n"));
}

TEST(ContentJson, HeadingsAreKeysAndNumbersAreNumbers) {
  EXPECT_EQ(content_json(small_document()), R"({
  "panel": "counts",
  "title": "Counts of requests",
  "run": "plain decode",
  "step": 3,
  "selection": {
    "request": "A",
    "group": 1,
    "column": 0,
    "block": null
  },
  "notes": [
    "first\nsecond"
  ],
  "tables": [
    {
      "title": "Counts",
      "note": "of two requests",
      "rows": [
        {
          "Request": "A",
          "c": 6,
          "Done": true
        },
        {
          "Request": "B|b",
          "c": null,
          "Done": false
        }
      ]
    },
    {
      "title": "Nothing",
      "rows": []
    }
  ]
}
)");
}

TEST(ContentJson, TheOtherRunOfAComparisonStandsBelow) {
  PanelDocument document = small_document();
  document.runs = {{"one", 3, {.text = "a\nb\n"}}, {"two", 2, {.text = "c\n"}}};
  EXPECT_THAT(content_json(document), HasSubstr(R"(  "text": [
    "a",
    "b"
  ],
  "tables": [],
  "compared_with": {
    "run": "two",
    "step": 2,
    "text": [
      "c"
    ],
    "tables": []
  }
})"));
}

TEST(ContentJson, NamesThatAreNoTextDoNotBreakIt) {
  PanelDocument document = small_document();
  document.request = "\xff";
  EXPECT_THAT(content_json(document), HasSubstr("\"request\": \"\xEF\xBF\xBD\""));
}

TEST(ContentFormat, NamesAreReadBack) {
  for (const ContentFormat format : kContentFormats)
    EXPECT_EQ(content_format_of(content_format_name(format)), format);
  EXPECT_EQ(content_format_of("Markdown"), std::nullopt);
}

}  // namespace
}  // namespace hybridscope::content_render_test
