#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "gui/model/content_render.h"
#include "gui/model/panel_infos.h"
#include "gui/model/workbench.h"
#include "tests/gui/model/shown_scenario.h"
#include "tests/sessions/record/plan_run.h"

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

using testing::ElementsAre;
using testing::Field;

std::unique_ptr<Workbench> workbench_with(std::unique_ptr<ShownRun> run) {
  auto workbench = std::make_unique<Workbench>(panel_infos());
  workbench->open(std::move(run));
  return workbench;
}

Picture content_of(Workbench& workbench, std::string_view panel) {
  return workbench.view().find_panel(panel)->make(workbench);
}

const Table& table_of(const Picture& content, std::string_view title) {
  for (const Table& table : content.tables)
    if (table.title == title) return table;
  throw std::runtime_error("no such table");
}

using test::titles_of;
using test::values_of;

std::vector<CellValue> cells(std::initializer_list<CellValue> values) { return values; }
CellValue n(std::int64_t value) { return value; }
CellValue w(const char* words) { return std::string(words); }
// What renderings rely on, and that no content depends on a level of recording.
void expect_sound(Workbench& workbench) {
  for (const PanelInfo& row : panel_infos()) {
    SCOPED_TRACE(row.id);
    const Picture content = row.make(workbench);
    EXPECT_TRUE(!content.tables.empty() || !content.notes.empty() || !content.text.empty());
    for (const Table& table : content.tables) {
      SCOPED_TRACE(table.title);
      EXPECT_FALSE(table.title.empty());
      const std::vector<std::string> titles = titles_of(table);
      const std::set<std::string> headings(titles.begin(), titles.end());
      EXPECT_EQ(headings.size(), table.headings.size());
      EXPECT_FALSE(headings.contains(""));
      for (const TableRow& cells_of_row : table.rows)
        ASSERT_EQ(cells_of_row.cells.size(), table.headings.size());
    }
    for (const Note& note : content.notes) EXPECT_FALSE(note.text.empty());
  }
}

TEST(PanelInfos, TheDefaultLayoutHasTheTabsOfEachAreaInTheirOrder) {
  const auto panels = test::panels_named(
      {"requests", "timeline", "batch_rows", "physical_blocks", "block_tables", "known_bugs"});
  EXPECT_THAT(default_layout(panels).panels(),
              ElementsAre("block_tables", "physical_blocks", "timeline", "batch_rows", "requests"));
}

TEST(PanelContent, EveryPanelIsSoundInEveryShippedScenario) {
  for (const std::string& path : test::shipped_scenarios()) {
    SCOPED_TRACE(path);
    const auto workbench = workbench_with(LiveRun::create(test::plan_of_file(path)).value());
    ASSERT_TRUE(workbench->run()->forward().value());
    workbench->select({.group = 0,
                       .column = 0,
                       .block = 1,
                       .request_name = workbench->run()->names().request({0})});
    expect_sound(*workbench);
    while (workbench->run()->forward().value() && workbench->run()->step() < 6) {
    }
    expect_sound(*workbench);
  }
}

TEST(PanelContent, WhatASessionDoesNotKeepIsLeftOut) {
  const test::TemporaryFolder folder;
  for (const RecordLevel level : {RecordLevel::counts, RecordLevel::blocks, RecordLevel::full}) {
    SCOPED_TRACE(record_level_name(level));
    const auto workbench =
        workbench_with(test::recorded_scenario(folder, "align_boundary_by_accepted_drafts", level));
    ASSERT_TRUE(workbench->run()->go_to(2).ok());
    workbench->select({.group = 1,
                       .column = 0,
                       .block = 2,
                       .request_name = workbench->run()->names().request({0})});
    expect_sound(*workbench);
  }
}

TEST(PanelContent, ABlockTableHasRequestsDownAndColumnsAcross) {
  const auto workbench = workbench_with(test::scenario_at("align_boundary_by_accepted_drafts", 2));
  const Picture content = content_of(*workbench, "block_tables");
  const Table& grid = table_of(content, "group 1 (mamba2)");
  EXPECT_THAT(titles_of(grid), ElementsAre("Request", "0", "1"));
  EXPECT_THAT(values_of(grid), ElementsAre(cells({w("A"), n(2), n(3)})));
  const Table& used =
      table_of(content, "group 1 (mamba2): cells with a part in the step, or a special end");
  EXPECT_THAT(values_of(used),
              ElementsAre(cells({w("A"), n(0), n(2), w("running"), w("written, not checked"), false,
                                 CellValue(), CellValue()}),
                          cells({w("A"), n(1), n(3), w("speculative"), w("written, not checked"),
                                 false, CellValue(), CellValue()})));
}

TEST(PanelContent, ABlockTableIsThatOfTheSideThatIsShown) {
  const auto workbench = workbench_with(test::scenario_at("shared_prefix_align", 3));
  workbench->options().block_tables.side = TableSide::worker;
  EXPECT_THAT(content_of(*workbench, "block_tables").notes,
              ElementsAre(Field(&Note::text, HasSubstr("The block tables of the worker"))));
}

TEST(PanelContent, BatchRowsHaveSlotsInRunnerV2Only) {
  const auto v1 = workbench_with(test::scenario_at("align_boundary_by_accepted_drafts", 2));
  const Table rows = content_of(*v1, "batch_rows").tables.front();
  EXPECT_THAT(titles_of(rows), ElementsAre("Row", "Request", "Class", "c", "q", "Drafts", "a",
                                           "Count of", "Tokens", "Origin"));
  EXPECT_THAT(values_of(rows), ElementsAre(cells({n(0), w("A"), w("verify"), n(6), n(2), n(1), n(1),
                                                  w("own, of step 1"), w("0..1"), w("kept")})));
}

// As the window draws it.
TEST(PanelContent, AllRowsOfPaddingAreOneLine) {
  const auto workbench = workbench_with(test::scenario_at("graph_padding", 3));
  const Table rows = content_of(*workbench, "batch_rows").tables.front();
  EXPECT_EQ(values_of(rows).back()[0], w("3"));
  EXPECT_EQ(values_of(rows).back()[1], w("padding"));
}

TEST(PanelContent, ACopyHasItsFormulaItsPlacesAndItsConvWindow) {
  const auto workbench = workbench_with(test::scenario_at("align_boundary_by_accepted_drafts", 2));
  const Picture content = content_of(*workbench, "state_copies");
  EXPECT_THAT(
      values_of(table_of(content, "A, after sampling: within_block_shift: places")),
      ElementsAre(cells({w("temporal source"), n(1), n(3)}), cells({w("conv source"), n(0), n(2)}),
                  cells({w("destination"), n(0), n(2)})));
  const Table& conv = table_of(content, "A, after sampling: within_block_shift: conv window");
  ASSERT_EQ(conv.rows.size(), 4u);
  EXPECT_EQ(values_of(conv)[1], cells({n(1), w("token"), n(6), true, w("token"), n(7)}));
}

TEST(PanelContent, PlainMetadataAreNumbersAndTheOpenArrayIsThereAsAWhole) {
  const auto workbench = workbench_with(test::scenario_at("align_boundary_by_accepted_drafts", 2));
  workbench->options().metadata = {.group = 1, .array = "state_indices_tensor_d"};
  const Picture content = content_of(*workbench, "metadata");
  const Table& group = table_of(content, "group 1 (mamba2), Mamba2AttentionMetadataBuilder");
  EXPECT_EQ(values_of(group)[2], cells({w("num_decodes"), {}, w("int"), {}, n(1), n(1)}));
  const Table& whole = table_of(content, "state_indices_tensor_d");
  EXPECT_THAT(titles_of(whole), ElementsAre("Row", "0", "1"));
  EXPECT_THAT(values_of(whole), ElementsAre(cells({n(0), n(2), n(3)})));
}

TEST(PanelContent, TheStoryOfABlockIsThatOfTheSelectedOne) {
  const auto workbench = workbench_with(test::scenario_at("align_boundary_by_accepted_drafts", 2));
  workbench->select({.block = 2});
  const Picture content = content_of(*workbench, "state_inspector");
  EXPECT_EQ(content.notes[0].text, "Block 2");
  EXPECT_THAT(values_of(table_of(content, "Held by")),
              ElementsAre(cells({w("A"), n(1), n(0), true, true, {}})));
  const Table& story = table_of(content, "Temporal state, why it is here, latest write first");
  EXPECT_EQ(values_of(story)[0][0], n(2));
  EXPECT_EQ(values_of(story)[0][1], n(2));
}

TEST(PanelContent, BothSidesOfAComparisonAreThere) {
  const auto workbench = workbench_with(test::scenario_at("align_boundary_by_accepted_drafts", 2));
  ASSERT_TRUE(workbench->compare_with(test::scenario_at("plain_decode", 1)).ok());
  const PanelDocument document = make_panel_document(*workbench, "requests");
  ASSERT_EQ(document.runs.size(), 2u);
  EXPECT_EQ(document.runs[0].run, "align boundary by accepted drafts");
  EXPECT_EQ(document.runs[1].run, "plain decode");
  EXPECT_EQ(document.runs[1].step, 2);
  EXPECT_EQ(workbench->run()->title(), "align boundary by accepted drafts");
}

}  // namespace

}  // namespace hybridscope::content_render_test
