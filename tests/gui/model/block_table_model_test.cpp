#include "gui/model/block_table_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gui/model/shown_scenario.h"
#include "tests/sessions/record/plan_run.h"

namespace hybridscope::block_table_model_test {
namespace {

using test::scenario_at;

const BlockTableGrid& mamba_grid(const BlockTableModel& model) {
  for (const BlockTableGrid& grid : model.grids)
    if (grid.is_mamba) return grid;
  throw std::runtime_error("no mamba group");
}

std::vector<std::string> roles(const BlockTableGrid& grid, std::size_t row) {
  std::vector<std::string> names;
  for (std::int32_t column = 0; column < grid.rows[row].num_columns; ++column)
    names.emplace_back(role_name(grid.at(row, column).role));
  return names;
}

// Step 2: c = 6, K = 1: the state of the running column 0, the draft's state in column 1.
TEST(BlockTableModel, RunningAndSpeculativeColumnsAreThoseTheForwardPassUses) {
  const auto run = scenario_at("align_boundary_by_accepted_drafts", 2);
  const BlockTableModel model = make_block_table_model(*run, {});
  const BlockTableGrid& grid = mamba_grid(model);
  ASSERT_EQ(grid.rows.size(), 1u);
  EXPECT_EQ(grid.rows[0].name, "A");
  EXPECT_THAT(roles(grid, 0), testing::ElementsAre("running", "speculative"));
}

// What the columns of A are in the step: role, "r" read, "w" written.
std::vector<std::string> uses(const BlockTableGrid& grid) {
  std::vector<std::string> words = roles(grid, 0);
  for (std::size_t column = 0; column < words.size(); ++column) {
    const BlockCell& cell = grid.at(0, static_cast<std::int32_t>(column));
    words[column] += std::string(cell.read ? " r" : "") + (cell.written ? " w" : "");
  }
  return words;
}

// Step 2 accepted three tokens, so step 3, which has no draft, reads the state in column 2 and
// writes its own to column 0; step 4 reads that one; it accepts four tokens, so step 5 reads column
// 3 before the last draft's state is written there.
TEST(BlockTableModel, ARunningColumnIsReadOrWrittenOrBoth) {
  const auto columns = [](std::int64_t step) {
    return uses(mamba_grid(make_block_table_model(*scenario_at("steps_without_drafts", step), {})));
  };
  EXPECT_THAT(columns(3), testing::ElementsAre("running w", "held", "running r", "held"));
  EXPECT_THAT(columns(4), testing::ElementsAre("running r w", "speculative w", "speculative w",
                                               "speculative w"));
  EXPECT_THAT(columns(5),
              testing::ElementsAre("running w", "speculative w", "speculative w", "running r w"));
}

TEST(BlockTableModel, ATooltipSaysWhatTheStepDoesWithTheCell) {
  const auto run = scenario_at("steps_without_drafts", 3);
  const auto said = [&](std::int32_t column) {
    const BlockTableModel model = make_block_table_model(*run, {});
    const BlockTableGrid& grid = mamba_grid(model);
    for (const Fact& fact : describe_cell(
             *run, {.request = {0}, .group = grid.group, .column = column}, grid.at(0, column)))
      if (fact.label == "in this step") return fact.value;
    return std::string();
  };
  EXPECT_EQ(said(0), "a state is written here");
  EXPECT_EQ(said(1), "");
  EXPECT_EQ(said(2), "the state is read here");
}

TEST(BlockTableModel, NothingIsWrongInShippedScenarios) {
  for (const std::string& path : test::shipped_scenarios()) {
    SCOPED_TRACE(path);
    const auto run = LiveRun::create(test::plan_of_file(path)).value();
    while (run->forward().value()) {
      for (const TableSide side : {TableSide::scheduler, TableSide::worker}) {
        const BlockTableModel model = make_block_table_model(*run, {.side = side});
        EXPECT_TRUE(model.complete);
        for (const BlockTableGrid& grid : model.grids)
          for (const BlockCell& cell : grid.cells)
            ASSERT_NE(cell.state, CellState::wrong)
                << "step " << run->step() << " " << grid.name << " block " << cell.block;
      }
    }
  }
}

TEST(BlockTableModel, ABlockOfTwoTablesIsShared) {
  const auto run = scenario_at("shared_prefix_align", 1);
  bool shared = false;
  do {
    for (const BlockTableGrid& grid : make_block_table_model(*run, {}).grids)
      for (const BlockCell& cell : grid.cells) shared = shared || cell.role == CellRole::shared;
  } while (run->forward().value());
  EXPECT_TRUE(shared);
}

TEST(BlockTableModel, ARowOfOneRequestIsThatOfTheGrid) {
  const auto run = scenario_at("shared_prefix_align", 3);
  const BlockTableModel model = make_block_table_model(*run, {});
  for (const BlockTableGrid& grid : model.grids)
    for (std::size_t row = 0; row < grid.rows.size(); ++row) {
      const BlockTableGrid one = make_block_table_row(*run, {}, grid.rows[row].request, grid.group);
      ASSERT_EQ(one.rows.size(), 1u);
      ASSERT_EQ(one.rows[0].num_columns, grid.rows[row].num_columns);
      for (std::int32_t column = 0; column < one.rows[0].num_columns; ++column)
        EXPECT_EQ(one.at(0, column), grid.at(row, column));
    }
}

TEST(BlockTableModel, ChangedCellsAreThoseTheStepSet) {
  const auto run = scenario_at("align_boundary_by_accepted_drafts", 1);
  for (const BlockTableGrid& grid : make_block_table_model(*run, {}).grids)
    for (const BlockCell& cell : grid.cells) EXPECT_TRUE(cell.changed);
  ASSERT_TRUE(run->forward().value());
  const BlockTableModel model = make_block_table_model(*run, {});
  EXPECT_FALSE(mamba_grid(model).at(0, 0).changed);
}

// Profile reference: step 5 replays arrays of step 4, so it is unknown that B's state was written
// here.
TEST(BlockTableModel, WhatAStaleReplayWroteIsAssumed) {
  const auto run = test::reference_at("prompt_as_long_as_a_verify_window", 5);
  const BlockTableModel model = make_block_table_model(*run, {});
  const BlockTableGrid& grid = mamba_grid(model);
  ASSERT_EQ(grid.rows.at(1).name, "B");
  EXPECT_EQ(
      grid_words(grid),
      "64 tokens a block, 2 requests x 3 columns; reads and writes are assumed: stale replay");
  const auto facts =
      describe_cell(*run, {.request = {1}, .group = grid.group, .column = 0}, grid.at(1, 0));
  EXPECT_THAT(facts, testing::Contains(Fact{"in this step",
                                            "a state is written here (assumed: the graph replays "
                                            "arrays of an earlier step)"}));
}

}  // namespace
}  // namespace hybridscope::block_table_model_test
