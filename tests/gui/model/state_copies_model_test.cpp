#include "gui/model/state_copies_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/check/symbolic_state.h"
#include "gui/model/block_verdict.h"
#include "gui/model/workbench.h"
#include "tests/gui/model/shown_scenario.h"
#include "tests/sessions/record/plan_run.h"
#include "tests/storage/recorded_run.h"

namespace hybridscope::state_copies_model_test {
namespace {

using test::scenario_at;

// The worked example of the scenario: c = 6, q = 2, a = 2, B = 8.
TEST(StateCopiesModel, DecisionsStandInTheOrderOfTime) {
  const auto run = scenario_at("align_boundary_by_accepted_drafts", 2);
  const StateCopiesModel model = make_state_copies_model(*run, {});
  EXPECT_EQ(model.num_copying, 1);
  ASSERT_EQ(model.rows.size(), 2u);
  EXPECT_EQ(model.rows[0].moment, CopyMoment::before_forward);
  EXPECT_EQ(model.rows[1].moment, CopyMoment::after_sampling);
  EXPECT_EQ(model.rows[1].rule, "postprocess_mamba_v1");
  EXPECT_EQ(model.rows[1].outcome, "within_block_shift");
  EXPECT_EQ(model.rows[1].columns, "0, 1 -> 0");
  EXPECT_EQ(model.rows[1].bias, 1);
  EXPECT_EQ(model.rows[0].outcome, "same_column");
  EXPECT_THAT(model.rows[0].why, testing::EndsWith("the running column stays, nothing to copy"));
}

TEST(StateCopiesModel, TheFirstRequestThatCopiesIsShownUnlessOneIsSelected) {
  const auto run = scenario_at("align_boundary_by_accepted_drafts", 2);
  const StateCopiesModel model = make_state_copies_model(*run, {});
  EXPECT_EQ(model.name, "A");
  ASSERT_EQ(model.details.size(), 2u);
  EXPECT_EQ(model.details[0].title, "after sampling: within_block_shift");
  EXPECT_EQ(model.details[0].formula.front(), "running = c + q - d = 6 + 2 - 1 = 7");
  EXPECT_FALSE(model.details[1].drawing.has_value());
}

TEST(StateCopiesModel, TemporalAndConvStateComeFromTheirOwnColumns) {
  const auto run = scenario_at("align_boundary_by_accepted_drafts", 2);
  const StateCopiesModel model = make_state_copies_model(*run, {});
  ASSERT_TRUE(model.details[0].drawing.has_value());
  const StateCopyDrawing& drawing = *model.details[0].drawing;
  EXPECT_EQ(drawing.temporal_source.column, 1);
  EXPECT_EQ(drawing.temporal_source.block, 3);
  EXPECT_EQ(drawing.conv_source.column, 0);
  EXPECT_EQ(drawing.conv_source.block, 2);
  EXPECT_EQ(drawing.destination.column, 0);
  EXPECT_EQ(drawing.destination.block, 2);
  EXPECT_EQ(drawing.num_tokens, 8);
}

// Group 1 keeps A in block 6 and gives the prefix cache a copy with the key; likewise group 2.
TEST(StateCopiesModel, BlockCopiesComeBeforeEverythingElse) {
  const auto run = test::hits_inside_blocks_at(3);
  const StateCopiesModel model = make_state_copies_model(*run, {});
  EXPECT_EQ(decisions_words(model), "1 decision, 0 copying; 2 block copies before it");
  ASSERT_EQ(model.rows.size(), 3u);
  EXPECT_EQ(copy_moment_name(model.rows[0].moment), "first");
  EXPECT_EQ(model.rows[0].outcome, "block copy");
  EXPECT_EQ(model.rows[0].rule, "copy_on_write");
  EXPECT_EQ(model.rows[0].columns, "2 -> cache");
  EXPECT_EQ(model.rows[0].why,
            "block 6 -> 8: A writes on in block 6, and the prefix cache keeps S(20) in the copy");
  EXPECT_EQ(model.rows[1].why,
            "block 7 -> 9: A writes on in block 7, and the prefix cache keeps S(20) in the copy");
  EXPECT_EQ(copy_moment_name(model.rows[2].moment), "before forward");
  EXPECT_EQ(model.rows[2].outcome, "same_column");
}

TEST(StateCopiesModel, ABlockCopyIsAnArrowBetweenTwoBlocks) {
  const auto run = test::hits_inside_blocks_at(3);
  const StateCopiesModel model = make_state_copies_model(*run, {});
  ASSERT_EQ(model.details.size(), 2u);
  EXPECT_EQ(model.details[0].title, "first: block copy");
  EXPECT_EQ(model.details[0].source, "vLLM v1/core/kv_cache_manager.py take_kv_cache_block_copies");
  ASSERT_EQ(model.details[0].block_copies.size(), 2u);
  const BlockCopyDrawing& copy = model.details[0].block_copies[0];
  EXPECT_EQ(copy.group_name, "group 1 (gdn_attention)");
  EXPECT_EQ(copy.source.block, 6);
  EXPECT_EQ(copy_place_words(copy.source_column), "column 2");
  EXPECT_EQ(cell_words(copy.destination), "8: 4/8");
  EXPECT_EQ(copy.destination.role, CellRole::cached);
  EXPECT_EQ(copy.destination.state, CellState::verified);
  EXPECT_EQ(copy_place_words(copy.destination_column), "prefix cache");
}

// A hit that ends inside a block: every group of B gets a copy, in the order of groups.
TEST(StateCopiesModel, ACopyOfAHitGoesToTheRequestsColumn) {
  const auto run = test::hits_inside_blocks_at(9);
  const StateCopiesModel model = make_state_copies_model(*run, {});
  std::vector<std::string> copies;
  for (const StateCopyRow& row : model.rows)
    if (row.block_copy >= 0) copies.push_back(row.columns + ", " + row.why);
  EXPECT_THAT(
      copies,
      testing::ElementsAre(
          "cache -> 2, block 5 -> 12: the hit of 20 tokens ends inside block 5, so B writes on in "
          "a "
          "copy",
          "cache -> 2, block 8 -> 7: the hit of 20 tokens ends inside block 8, so B writes on in a "
          "copy",
          "cache -> 2, block 9 -> 11: the hit of 20 tokens ends inside block 9, so B writes on in "
          "a "
          "copy"));
}

// A chunk of 160 tokens behind the first 8: the state goes from column 0 to column 20.
TEST(StateCopiesModel, ColumnsFarFromTheCopyAreLeftOut) {
  const auto run = LiveRun::create(test::plan_of_text(R"({
    "version": 1, "name": "a long chunk", "model": "tiny-mamba2",
    "settings": {"mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 64,
      "max_model_len": 256, "async_scheduling": false},
    "requests": [{"id": "A", "prompt": 200, "max_tokens": 2}],
    "script": [{"step": 1, "budget": 8}, {"step": 2, "budget": 160}]})"))
                       .value();
  ASSERT_TRUE(run->go_to(2).ok());
  const StateCopiesModel model = make_state_copies_model(*run, {});
  ASSERT_FALSE(model.details.empty());
  ASSERT_TRUE(model.details[0].drawing.has_value());
  const StateCopyDrawing& drawing = *model.details[0].drawing;
  std::vector<std::int32_t> columns;
  for (const CopyCell& cell : drawing.cells) columns.push_back(cell.column);
  EXPECT_THAT(columns, testing::ElementsAre(0, 1, 2, 18, 19, 20));
  EXPECT_EQ(drawing.slot_of(2), 2);
  EXPECT_EQ(drawing.slot_of(18), 4);
  EXPECT_FALSE(drawing.goes_on);
}

TEST(StateCopiesModel, WithoutDecisionsItSaysWhy) {
  const auto run = scenario_at("shared_prefix_all", 1);
  const StateCopiesModel model = make_state_copies_model(*run, {});
  EXPECT_TRUE(model.rows.empty());
  EXPECT_EQ(model.empty, "No decision about copying state was made in this step.");
}

// What the checker executed, against what is drawn.
class DrawnWindows {
 public:
  // `before`: what blocks held when the step before was over.
  void check_step(LiveRun& run, const SymbolicState& before) {
    const StepTrace trace = run.view().trace;
    // Drafts of the step before are known; those of this step only behind its copies.
    const auto known_before = known_;
    learn(trace, run.config().conv_kernel);
    for (std::size_t group = 0; group < run.config().kv_cache_config.groups.size(); ++group) {
      if (!run.config().kv_cache_config.groups[group].is_mamba()) continue;
      for (const RowTrace& row : trace.rows) {
        const StateCopiesModel model = make_state_copies_model(
            run, {.request = row.request, .group = static_cast<std::int32_t>(group)});
        if (model.request != row.request) continue;  // the row has no decision: another is shown
        for (const StateCopyDetail& detail : model.details) {
          if (!detail.drawing) continue;
          SCOPED_TRACE(run.title() + ", step " + std::to_string(trace.step) + ", " + model.name +
                       ", " + detail.title);
          const StateCopyDrawing& drawing = *detail.drawing;
          if (detail.title.starts_with("before")) {
            Known known =
                known_before.contains(row.request) ? known_before.at(row.request) : Known();
            const Known& now = known_.at(row.request);  // adds the prefix of a hit
            known.insert(now.begin(), now.end());
            compare(drawing.conv.source, before.conv(drawing.conv_source.block), known);
          } else {
            const SymbolicState& after = run.player().run().state().state;
            if (drawing.conv_source.block != drawing.destination.block)
              compare(drawing.conv.source, after.conv(drawing.conv_source.block),
                      known_.at(row.request));
            compare(drawing.conv.destination, after.conv(drawing.destination.block),
                    known_.at(row.request));
          }
        }
      }
    }
  }
  int num_compared() const { return num_compared_; }
  int num_rejected() const { return num_rejected_; }

 private:
  using Known = std::map<std::int32_t, Fingerprint>;  // by token number

  void learn(const StepTrace& trace, std::int32_t conv_kernel) {
    RowTruth truth;
    truth.fold(trace, conv_kernel);
    for (std::size_t r = 0; r < trace.rows.size(); ++r) {
      const auto row = static_cast<std::int32_t>(r);
      const std::int32_t computed = truth.num_computed_tokens(row);
      for (std::int32_t token = std::max(computed - conv_kernel + 2, 1);
           token <= computed + truth.num_query_tokens(row); ++token)
        known_[trace.rows[r].request][token] = truth.at(row, token);
    }
  }

  void compare(const std::vector<ConvPosition>& drawn, std::span<const Fingerprint> held,
               const Known& known) {
    ASSERT_EQ(drawn.size(), held.size());
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      if (drawn[i].holds == ConvHolds::left_over) {
        EXPECT_FALSE(drawn[i].in_window) << "position " << i;
        continue;
      }
      const Fingerprint expected =
          drawn[i].holds == ConvHolds::before_first ? kBeforeFirstToken : known.at(drawn[i].token);
      EXPECT_EQ(held[i], expected) << "position " << i << " is drawn as token " << drawn[i].token;
      ++num_compared_;
      num_rejected_ += drawn[i].holds == ConvHolds::rejected ? 1 : 0;
    }
  }

  std::map<RequestId, Known> known_;
  int num_compared_ = 0;
  int num_rejected_ = 0;
};

TEST(StateCopiesModel, DrawnTokensAreThoseTheCheckerHasInTheBlocks) {
  int num_compared = 0;
  int num_rejected = 0;
  for (const std::string& path : test::shipped_scenarios()) {
    const auto run = LiveRun::create(test::plan_of_file(path)).value();
    DrawnWindows windows;
    while (true) {
      const SymbolicState before = run->player().run().state().state;
      if (!run->forward().value()) break;
      windows.check_step(*run, before);
      if (testing::Test::HasFailure()) return;
    }
    num_compared += windows.num_compared();
    num_rejected += windows.num_rejected();
  }
  EXPECT_GT(num_compared, 300);
  EXPECT_GT(num_rejected, 10);
}

// Profile reference, of B's drafts: step 3 ran without drafts and read S(5) as S(7), so that column
// 0 holds S(6) where step 4 copies it as S(8).
TEST(StateCopiesModel, ACopyOfAnotherStateThanWasMeantIsToldAsSuch) {
  const auto run = test::reference_at("budget_cuts_drafts_to_zero", 4);
  const StateCopiesModel model = make_state_copies_model(*run, {.request = {1}});
  ASSERT_FALSE(model.details.empty());
  EXPECT_EQ(model.name, "B");
  ASSERT_TRUE(model.details[0].drawing.has_value());
  const StateCopyDrawing& drawing = *model.details[0].drawing;
  EXPECT_EQ(drawing.destination.block, 10);
  EXPECT_EQ(drawing.num_tokens, 8);
  EXPECT_EQ(drawing.held_tokens, 6);
  EXPECT_THAT(drawing.faults,
              testing::ElementsAre("Meant to be S(8), but it holds S(6).",
                                   "The conv window is meant to end with token 8, but does not "
                                   "hold the tokens before it."));
  EXPECT_EQ(drawing.conv.source[0].holds, ConvHolds::not_known);
}

TEST(StateCopiesModel, WhatADecisionWithoutABoundaryWouldHaveCopiedIsNotShown) {
  const auto run = scenario_at("align_boundary_by_accepted_drafts", 1);
  bool seen = false;
  do {
    for (const StateCopyRow& row : make_state_copies_model(*run, {}).rows)
      if (row.outcome == "no_boundary") {
        seen = true;
        EXPECT_EQ(row.columns, "-");
      }
  } while (run->forward().value());
  EXPECT_TRUE(seen);
}

TEST(StateCopiesModel, BelowLevelFullItIsDrawnAsDecided) {
  const test::TemporaryFolder folder;
  const auto run =
      test::recorded_scenario(folder, "align_boundary_by_accepted_drafts", RecordLevel::blocks);
  ASSERT_TRUE(run->go_to(2).ok());
  const StateCopiesModel model = make_state_copies_model(*run, {});
  ASSERT_TRUE(model.details[0].drawing.has_value());
  EXPECT_EQ(model.details[0].drawing->note, kDrawnAsDecided);
}

// Every copy of a run: "request step column -> column: faults".
std::vector<std::string> faulty_copies(ShownRun& run) {
  std::vector<std::string> faulty;
  while (run.forward().value())
    for (const RowTrace& row : run.view().trace.rows)
      for (std::size_t group = 0; group < run.config().kv_cache_config.groups.size(); ++group) {
        if (!run.config().kv_cache_config.groups[group].is_mamba()) continue;
        const StateCopiesModel model = make_state_copies_model(
            run, {.request = row.request, .group = static_cast<std::int32_t>(group)});
        if (model.request != row.request) continue;
        for (const StateCopyDetail& detail : model.details)
          if (detail.drawing && !detail.drawing->faults.empty())
            faulty.push_back(model.name + " " + std::to_string(run.step()) + " " +
                             std::to_string(group) + ": " + detail.drawing->faults[0]);
      }
  return faulty;
}

TEST(StateCopiesModel, EveryCopyOfAWrongStateInShippedScenariosIsFoundLiveAndRecorded) {
  std::size_t num_faulty = 0;
  for (const std::string& path : test::shipped_scenarios()) {
    SCOPED_TRACE(path);
    EXPECT_THAT(faulty_copies(*LiveRun::create(test::plan_of_file(path)).value()),
                testing::IsEmpty());
    const test::TemporaryFolder folder;
    const SessionPlace place{.file = folder / "runs.db", .name = "reference"};
    const RunPlan plan = test::reference_plan_of_file(path);
    ASSERT_TRUE(test::record_run(plan, {.place = place}).ok());
    const std::vector<std::string> live = faulty_copies(*LiveRun::create(plan).value());
    EXPECT_EQ(faulty_copies(*RecordedRun::open(place).value()), live);
    num_faulty += live.size();
  }
  EXPECT_EQ(num_faulty, 8u);  // B in step 4, two groups; C in steps 5, 6, 8, 8; C in steps 5, 6
}

// Step 2 goes on in column 1.
TEST(StateCopiesModel, OnlyStatesThatTheModelKeepsAreDrawn) {
  const auto drawing_of =
      [](const std::string& model) {
        const auto run = LiveRun::create(test::plan_of_text(R"({
      "version": 1, "name": "kinds", "model": ")" + model + R"(",
      "settings": {"mamba_cache_mode": "align", "block_size": 512, "num_gpu_blocks_override": 64,
                   "max_model_len": 4096},
      "requests": [{"id": "A", "prompt": 700, "max_tokens": 9}],
      "script": [{"step": 1, "budget": 512}]})"))
                             .value();
        EXPECT_TRUE(run->go_to(2).ok());
        return make_state_copies_model(*run, {}).details.at(0).drawing.value();
      };
  EXPECT_FALSE(drawing_of("minimax-text-01").has_conv);
  EXPECT_TRUE(drawing_of("minimax-text-01").has_temporal);
  EXPECT_TRUE(drawing_of("lfm2-1.2b").has_conv);
  EXPECT_FALSE(drawing_of("lfm2-1.2b").has_temporal);
}

// Mode all decides about rows that crossed a boundary only.
TEST(StateCopiesModel, ModeAllSaysWhyARowWithoutABoundaryCopiesNothing) {
  const auto why = [](LiveRun& run) {
    const StateCopiesModel model = make_state_copies_model(run, {});
    EXPECT_EQ(model.num_decisions, 0);
    EXPECT_EQ(model.details.at(0).source, "docs/differences.md all_mode_speculation");
    return std::string(model.rows.at(0).outcome) + ": " + model.rows.at(0).why;
  };
  EXPECT_EQ(why(*scenario_at("all_mode_boundary_by_accepted_drafts", 4)),
            "no decision: no block boundary lies in c + 1 .. c + a = 10 .. 13, nothing to copy");
  EXPECT_EQ(why(*test::reference_at("all_mode_boundary_by_accepted_drafts", 6)),
            "no decision: the policy stores no boundary states after acceptance");
}

TEST(StateCopiesModel, ACopyIntoTheBlockOfAFreshRequestIsToldInWords) {
  EXPECT_THAT(copy_faults({.temporal = StateTruth::wrong, .conv = StateTruth::wrong}, {}),
              testing::ElementsAre("Nothing of the request is computed, so it has to start from "
                                   "zeros, but the copy puts what another block holds into its "
                                   "block."));
}

TEST(StateCopiesModel, ANarrowListHasASentenceForEachRow) {
  const auto run = scenario_at("align_boundary_by_accepted_drafts", 2);
  const StateCopiesModel model = make_state_copies_model(*run, {});
  ASSERT_EQ(model.rows.size(), 2U);
  EXPECT_EQ(copy_row_sentence(model.rows[0]),
            "A before forward: same_column, columns 0 -> 0, bias 0");
  EXPECT_EQ(copy_row_sentence(model.rows[1]),
            "A after sampling: within_block_shift, columns 0, 1 -> 0, bias 1");
  StateCopyRow fresh{.name = "B", .outcome = "fresh_state", .columns = "- -> 1"};
  EXPECT_EQ(copy_row_sentence(fresh), "B before forward: fresh_state, columns none -> 1");
  fresh.columns = "-";
  EXPECT_EQ(copy_row_sentence(fresh), "B before forward: fresh_state");
}

// Step 2 of A: 6 + 2 tokens, of which the draft is accepted, end at the boundary of a block.
TEST(StateCopiesPicture, ADecisionHasColumnsAndIsASentenceWhereThereIsNoRoomForThem) {
  Workbench workbench(test::panels_named({"state_copies"}));
  workbench.open(test::scenario_at("align_boundary_by_accepted_drafts", 2));
  const Table table = state_copies_picture(workbench).tables.at(0);
  ASSERT_EQ(table.rows.size(), 2u);
  const TableRow& shift = table.rows[1];
  EXPECT_EQ(shift.mark, "decision A 1");
  EXPECT_EQ(shift.clicks.at(0).command, "select.request");
  EXPECT_EQ(shown_words(shift.cells[2]), "within_block_shift");
  EXPECT_EQ(shown_words(shift.cells[4]), "1");
  EXPECT_EQ(table.rows[0].cells[2].tone, Tone::dim) << "it copies nothing";
  EXPECT_EQ(shift.cells[5].extras->whole,
            "A after sampling: within_block_shift, columns 0, 1 -> 0, bias 1\n" +
                shown_words(shift.cells[5]));
  for (std::size_t column = 0; column < table.headings.size(); ++column)
    EXPECT_EQ(table.headings[column].is_spare, column != 5) << table.headings[column].title;
}

}  // namespace
}  // namespace hybridscope::state_copies_model_test
