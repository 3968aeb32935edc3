#include "gui/model/panel_content.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "gui/model/content_render.h"
#include "gui/model/workbench.h"
#include "tests/gui/model/shown_scenario.h"
#include "tests/sessions/record/plan_run.h"

namespace hybridscope::panel_content_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<ContentRow> all_contents() {
  std::vector<ContentRow> all;
  for (const auto& part : {block_contents(), batch_contents(), metadata_contents(), run_contents(),
                           language_contents()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

// A workbench that knows every panel that has contents.
std::unique_ptr<Workbench> workbench_with(std::unique_ptr<ShownRun> run) {
  std::vector<PanelInfo> panels;
  for (const ContentRow& row : all_contents()) panels.push_back({row.panel, row.panel, ""});
  auto workbench = std::make_unique<Workbench>(std::move(panels));
  workbench->open(std::move(run));
  return workbench;
}

PanelContent content_of(Workbench& workbench, std::string_view panel) {
  return find_content(panel)->make(workbench);
}

const ContentTable& table_of(const PanelContent& content, std::string_view title) {
  for (const ContentTable& table : content.tables)
    if (table.title == title) return table;
  throw std::runtime_error("no such table");
}

std::vector<ContentCell> cells(std::initializer_list<ContentCell> values) { return values; }
ContentCell n(std::int64_t value) { return value; }
ContentCell w(const char* words) { return std::string(words); }

// What renderings rely on, and that no content depends on a level of recording.
void expect_sound(Workbench& workbench) {
  for (const ContentRow& row : all_contents()) {
    SCOPED_TRACE(row.panel);
    const PanelContent content = row.make(workbench);
    EXPECT_TRUE(!content.tables.empty() || !content.notes.empty() || !content.text.empty());
    for (const ContentTable& table : content.tables) {
      SCOPED_TRACE(table.title);
      EXPECT_FALSE(table.title.empty());
      const std::set<std::string> headings(table.headings.begin(), table.headings.end());
      EXPECT_EQ(headings.size(), table.headings.size());
      EXPECT_FALSE(headings.contains(""));
      for (const auto& cells_of_row : table.rows)
        ASSERT_EQ(cells_of_row.size(), table.headings.size());
    }
    for (const std::string& note : content.notes) EXPECT_FALSE(note.empty());
  }
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
  const PanelContent content = content_of(*workbench, "block_tables");
  const ContentTable& grid = table_of(content, "group 1 (mamba2)");
  EXPECT_THAT(grid.headings, ElementsAre("Request", "0", "1"));
  EXPECT_THAT(grid.rows, ElementsAre(cells({w("A"), n(2), n(3)})));
  const ContentTable& used =
      table_of(content, "group 1 (mamba2): cells with a part in the step, or a special end");
  EXPECT_THAT(used.rows,
              ElementsAre(cells({w("A"), n(0), n(2), w("running"), w("written, not checked"), false,
                                 ContentCell(), ContentCell()}),
                          cells({w("A"), n(1), n(3), w("speculative"), w("written, not checked"),
                                 false, ContentCell(), ContentCell()})));
}

TEST(PanelContent, ABlockTableIsThatOfTheSideThatIsShown) {
  const auto workbench = workbench_with(test::scenario_at("shared_prefix_align", 3));
  workbench->options().block_tables.side = TableSide::worker;
  EXPECT_THAT(content_of(*workbench, "block_tables").notes,
              ElementsAre(HasSubstr("The block tables of the worker")));
}

TEST(PanelContent, BatchRowsHaveSlotsInRunnerV2Only) {
  const auto v1 = workbench_with(test::scenario_at("align_boundary_by_accepted_drafts", 2));
  const ContentTable rows = content_of(*v1, "batch_rows").tables.front();
  EXPECT_THAT(rows.headings, ElementsAre("Row", "Request", "Class", "c", "q", "Drafts", "a",
                                         "Count of", "Tokens", "Origin"));
  EXPECT_THAT(rows.rows, ElementsAre(cells({n(0), w("A"), w("verify"), n(6), n(2), n(1), n(1),
                                            w("own, of step 1"), w("0..1"), w("kept")})));
}

TEST(PanelContent, RowsOfPaddingAreCountedOneByOne) {
  const auto workbench = workbench_with(test::scenario_at("graph_padding", 1));
  std::int64_t num_padding = 0;
  do {
    const PanelContent content = content_of(*workbench, "batch_rows");
    if (content.tables.empty()) continue;
    const ContentTable& rows = content.tables.front();
    for (std::size_t i = 0; i < rows.rows.size(); ++i) {
      EXPECT_EQ(rows.rows[i][0], n(static_cast<std::int64_t>(i)));
      num_padding += rows.rows[i][1] == w("padding") ? 1 : 0;
    }
  } while (workbench->run()->forward().value());
  EXPECT_GT(num_padding, 1);
}

TEST(PanelContent, ACopyHasItsFormulaItsPlacesAndItsConvWindow) {
  const auto workbench = workbench_with(test::scenario_at("align_boundary_by_accepted_drafts", 2));
  const PanelContent content = content_of(*workbench, "state_copies");
  EXPECT_THAT(
      table_of(content, "A, after sampling: within_block_shift: places").rows,
      ElementsAre(cells({w("temporal source"), n(1), n(3)}), cells({w("conv source"), n(0), n(2)}),
                  cells({w("destination"), n(0), n(2)})));
  const ContentTable& conv =
      table_of(content, "A, after sampling: within_block_shift: conv window");
  ASSERT_EQ(conv.rows.size(), 4u);
  EXPECT_EQ(conv.rows[1], cells({n(1), w("token"), n(6), true, w("token"), n(7)}));
}

TEST(PanelContent, PlainMetadataAreNumbersAndTheOpenArrayIsThereAsAWhole) {
  const auto workbench = workbench_with(test::scenario_at("align_boundary_by_accepted_drafts", 2));
  workbench->options().metadata = {.group = 1, .array = "state_indices_tensor_d"};
  const PanelContent content = content_of(*workbench, "metadata");
  const ContentTable& group = table_of(content, "group 1 (mamba2), Mamba2AttentionMetadataBuilder");
  EXPECT_EQ(group.rows[2], cells({w("num_decodes"), {}, w("int"), {}, n(1), n(1)}));
  const ContentTable& whole = table_of(content, "state_indices_tensor_d");
  EXPECT_THAT(whole.headings, ElementsAre("Row", "0", "1"));
  EXPECT_THAT(whole.rows, ElementsAre(cells({n(0), n(2), n(3)})));
}

TEST(PanelContent, TheStoryOfABlockIsThatOfTheSelectedOne) {
  const auto workbench = workbench_with(test::scenario_at("align_boundary_by_accepted_drafts", 2));
  workbench->select({.block = 2});
  const PanelContent content = content_of(*workbench, "state_inspector");
  EXPECT_EQ(content.tables[0].title, "Block 2");
  EXPECT_THAT(table_of(content, "Held by").rows,
              ElementsAre(cells({w("A"), n(1), n(0), true, true})));
  const ContentTable& story =
      table_of(content, "Temporal state, why it is here, latest write first");
  EXPECT_EQ(story.rows[0][0], n(2));
  EXPECT_EQ(story.rows[0][1], n(2));
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
}  // namespace hybridscope::panel_content_test
