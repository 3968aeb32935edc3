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
    words[column] += std::string(cell.use.read ? " r" : "") + (cell.use.written ? " w" : "");
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

// The cells of one request in a group, as they are written in the table.
std::vector<std::string> written_cells(ShownRun& run, std::int32_t group, std::string_view name,
                                       TableSide side = TableSide::scheduler) {
  const BlockTableModel model = make_block_table_model(run, {.side = side});
  const BlockTableGrid& grid = model.grids[static_cast<std::size_t>(group)];
  std::vector<std::string> cells;
  for (std::size_t row = 0; row < grid.rows.size(); ++row)
    for (std::int32_t column = 0;
         grid.rows[row].name == name && column < grid.rows[row].num_columns; ++column)
      cells.push_back(cell_words(grid.at(row, column)));
  return cells;
}

std::string fact_of(ShownRun& run, std::int32_t group, std::int32_t column,
                    std::string_view label) {
  const BlockTableModel model = make_block_table_model(run, {});
  const BlockTableGrid& grid = model.grids[static_cast<std::size_t>(group)];
  for (const Fact& fact :
       describe_cell(run, {.request = grid.rows[0].request, .group = group, .column = column},
                     grid.at(0, column)))
    if (fact.label == label) return fact.value;
  return {};
}

// 20 tokens are two blocks of 8 and 4 tokens of the third. In step 3 A runs on in block 6, and the
// key goes to a copy; keys and values are only added to block 5, which keeps its key.
TEST(BlockTableModel, AnEntryThatEndsInsideItsBlockSaysHowDeep) {
  const auto run = test::hits_inside_blocks_at(2);
  EXPECT_THAT(written_cells(*run, 0, "A"), testing::ElementsAre("1", "2", "5: 4/8"));
  EXPECT_THAT(written_cells(*run, 1, "A"), testing::ElementsAre("0", "3", "6: 4/8"));
  EXPECT_EQ(fact_of(*run, 1, 2, "prefix ends at"), "4/8 of the block's tokens");
  EXPECT_EQ(fact_of(*run, 1, 1, "prefix ends at"), "");
  ASSERT_TRUE(run->go_to(3).ok());
  EXPECT_THAT(written_cells(*run, 0, "A"), testing::ElementsAre("1", "2", "5: 4/8"));
  EXPECT_THAT(written_cells(*run, 1, "A"), testing::ElementsAre("0", "0", "6"));
  const BlockTableModel model = make_block_table_model(*run, {});
  EXPECT_EQ(model.grids[0].at(0, 2).state, CellState::written)
      << "the last write was token 21: it does not tell what the first 20 are";
  ASSERT_TRUE(run->go_to(6).ok());
  EXPECT_THAT(written_cells(*run, 0, "A"), testing::ElementsAre("1", "2", "5: 4/8"));
  EXPECT_EQ(fact_of(*run, 0, 2, "registered as").substr(0, 24), "the prefix of 24 tokens,");
  EXPECT_EQ(fact_of(*run, 0, 2, "prefix ends at"),
            "4/8 of the block's tokens, registered besides for 20 tokens");
}

// B's hit of 20 tokens ends in column 2 of every group; B has copies there, and in step 9 it writes
// on up to token 24, where the whole block is registered.
TEST(BlockTableModel, AHitThatEndsInsideABlockSaysHowDeep) {
  const auto run = test::hits_inside_blocks_at(9);
  EXPECT_THAT(written_cells(*run, 0, "B"), testing::ElementsAre("1", "2", "12: 4/8"));
  EXPECT_THAT(written_cells(*run, 1, "B"), testing::ElementsAre("0", "0", "7: 4/8"));
  EXPECT_THAT(written_cells(*run, 2, "B"), testing::ElementsAre("0", "0", "11: 4/8"));
  EXPECT_EQ(fact_of(*run, 0, 2, "hit ends at"), "4/8 of the block's tokens");
  EXPECT_EQ(fact_of(*run, 0, 2, "prefix ends at"), "");
  ASSERT_TRUE(run->go_to(10).ok());
  EXPECT_THAT(written_cells(*run, 0, "B"), testing::ElementsAre("1", "2", "12", "6"));
}

// A's chunk of 30 tokens leaves S(24) in column 2 and S(30) in column 3; B starts from S(24).
TEST(BlockTableModel, AStateStoredInsideAPrefillIsACheckpoint) {
  const auto run = scenario_at("state_inside_a_prefill", 1);
  EXPECT_THAT(written_cells(*run, 1, "A"), testing::ElementsAre("0", "0", "5: S(24)", "6"));
  EXPECT_EQ(fact_of(*run, 1, 2, "checkpoint"), "S(24), stored by a prefill that ran on past it");
  EXPECT_EQ(fact_of(*run, 1, 2, "in this step"), "a prefill stores a state here and runs on");
  EXPECT_EQ(fact_of(*run, 1, 3, "checkpoint"), "");
  ASSERT_TRUE(run->go_to(2).ok());
  EXPECT_THAT(written_cells(*run, 1, "B"), testing::ElementsAre("0", "0", "5: S(24)", "8"));
  const BlockTableModel model = make_block_table_model(*run, {});
  EXPECT_EQ(model.grids[1].at(1, 2).use, CellUse{});
}

// Hashes of 2 tokens: the last hit of a resend of 30 tokens is 28, which lies behind the column
// that the checkpoint is in.
TEST(BlockTableModel, ACheckpointHasItsOwnDepthWhateverItsColumn) {
  const auto run = LiveRun::create(test::plan_of_text(R"({
    "version": 1, "name": "fine", "model": "tiny-mamba2",
    "settings": {"engine": "vllm-0.33.0", "mamba_cache_mode": "align", "block_size": 8,
      "prefix_match_unit": 2, "num_gpu_blocks_override": 40, "max_model_len": 64,
      "async_scheduling": false,
      "policies": {"checkpoint_layers": "mamba2_and_gdn", "checkpoint_writes": "every_valid_chunk"}},
    "requests": [{"id": "A", "prompt": 30, "max_tokens": 4}]})"))
                       .value();
  ASSERT_TRUE(run->go_to(1).ok());
  EXPECT_THAT(written_cells(*run, 1, "A"), testing::ElementsAre("0", "0", "5: S(28)", "6"));
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
