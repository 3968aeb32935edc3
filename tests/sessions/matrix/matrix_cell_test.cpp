// Cells of the matrix: their names, what they exercise, their results, and the faults that are
// collected from them to be shrunk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/engine/batch_metadata_policies.h"
#include "core/engine/policy_table.h"
#include "core/engine/worker_policies.h"
#include "sessions/matrix/matrix_cell.h"
#include "sessions/matrix/matrix_events.h"
#include "sessions/matrix/matrix_summary.h"
#include "sessions/matrix/run_matrix.h"
#include "sessions/scenario/scenario_reader.h"
#include "tests/sessions/matrix/small_matrix.h"

namespace hybridscope::test::matrix_cell_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(MatrixCell, AreAllCombinationsOfTheAxesOnce) {
  const std::vector<MatrixCell> cells = all_cells();
  EXPECT_EQ(cells.size(), 3 * 5 * 2 * 2 * 2 * 2 * 5 * 4 * 3 * 2 * 2);
  EXPECT_EQ(num_cells(), cells.size());
  EXPECT_EQ(std::set(cells.begin(), cells.end()).size(), cells.size());
}

TEST(MatrixCell, IsCalledByItsValuesInTheOrderOfTheAxes) {
  const std::string name = "align/mtp2/on/DS/v1/async/full_decode_only/reset/dense/block/none";
  const MatrixCell cell = cell_called(name);
  EXPECT_EQ(cell_name(cell), name);
  EXPECT_EQ(cell.mamba_cache_mode(), MambaCacheMode::align);
  EXPECT_EQ(cell.speculative_method(), SpeculativeMethod::mtp);
  EXPECT_EQ(cell.num_speculative_tokens(), 2);
  EXPECT_TRUE(cell.enable_prefix_caching());
  EXPECT_EQ(cell.layout(), ConvStateLayout::DS);
  EXPECT_EQ(cell.runner(), ModelRunner::v1);
  EXPECT_TRUE(cell.async_scheduling());
  EXPECT_EQ(cell.cudagraph_mode(), CUDAGraphMode::full_decode_only);
  EXPECT_EQ(cell.pressure(), Pressure::reset);
  for (const MatrixCell& one : all_cells()) EXPECT_EQ(cell_called(cell_name(one)), one);
}

TEST(MatrixCell, ANameThatIsNoneTellsWhatIsWrong) {
  EXPECT_THAT(parse_cell("align/mtp2").error().message,
              HasSubstr("is not a cell: 2 values, expected 11, one an axis"));
  EXPECT_THAT(
      parse_cell("algin/mtp2/on/SD/v1/sync/none/none/dense/block/none").error().message,
      StartsWith("axis mode has no value \"algin\", did you mean \"align\"? (expected none, "
                 "align, all)"));
}

// Without prefix caching there is nothing to keep states for; mode none has no prefix caching; the
// builders of recurrent layers take no mixed batch in a full graph.
TEST(MatrixCell, StandsForAnotherWhereTheReferenceChangesASetting) {
  const auto other = [](const std::string& name) -> std::string {
    const auto cell = stands_for(cell_called(name));
    return cell ? cell_name(*cell) : "itself";
  };
  EXPECT_EQ(other("align/mtp1/off/SD/v1/sync/none/none/dense/block/none"),
            "none/mtp1/off/SD/v1/sync/none/none/dense/block/none");
  EXPECT_EQ(other("none/mtp1/on/SD/v1/sync/none/none/dense/block/none"),
            "none/mtp1/off/SD/v1/sync/none/none/dense/block/none");
  EXPECT_EQ(other("align/mtp1/on/SD/v1/sync/full/none/dense/block/none"),
            "align/mtp1/on/SD/v1/sync/full_and_piecewise/none/dense/block/none");
  EXPECT_EQ(other("all/mtp1/off/SD/v1/sync/full/none/dense/block/none"),
            "none/mtp1/off/SD/v1/sync/full_and_piecewise/none/dense/block/none");
  EXPECT_EQ(other("align/mtp1/on/SD/v1/sync/none/none/dense/block/none"), "itself");
  EXPECT_EQ(other("none/mtp1/off/SD/v1/sync/none/none/dense/block/none"), "itself");
}

// Without prefix caching there is nothing to retain or to match; in mode align alone hits end
// inside blocks and layers store states inside prefills.
TEST(MatrixCell, StandsForAnotherWhereASettingChangesNothing) {
  const auto other = [](const std::string& name) -> std::string {
    const auto cell = stands_for(cell_called(name));
    return cell ? cell_name(*cell) : "itself";
  };
  EXPECT_EQ(other("none/mtp1/off/SD/v1/sync/none/none/2B/finer/in_prefills"),
            "none/mtp1/off/SD/v1/sync/none/none/dense/block/none");
  EXPECT_EQ(other("all/mtp1/on/SD/v1/sync/none/none/0/finer/in_prefills"),
            "all/mtp1/on/SD/v1/sync/none/none/0/block/none");
  EXPECT_EQ(other("align/mtp1/on/SD/v1/sync/none/none/0/finer/in_prefills"), "itself");
}

TEST(MatrixCell, IsRefusedWhereAnEngineDoesNotStart) {
  EXPECT_EQ(
      refusal_of(cell_called("align/mtp3/on/DS/v1/async/full_and_piecewise/none/dense/block/none")),
      "");
  EXPECT_EQ(refusal_of(cell_called("align/ngram/on/SD/v2/sync/full/none/dense/block/none")), "");
  EXPECT_EQ(refusal_of(cell_called("align/ngram/on/SD/v2/async/full/none/dense/block/none")), "");
  EXPECT_THAT(refusal_of(cell_called("align/ngram/on/SD/v1/async/full/none/dense/block/none")),
              HasSubstr("async_scheduling is on with method ngram on runner v1"));
  EXPECT_THAT(refusal_of(cell_called("align/mtp1/on/DS/v2/sync/full/none/dense/block/none")),
              HasSubstr("ssm_conv_state_layout is DS with speculative tokens on runner v2"));
}

TEST(CellFilter, TakesTheValuesThatAreNamed) {
  EXPECT_EQ(cells_with({}).size(), num_cells());
  EXPECT_EQ(cells_with({"mode=align,all"}).size(), num_cells() / 3 * 2);
  EXPECT_EQ(cells_with({"mode=align", "mode=all", "runner=v2"}).size(), num_cells() / 3);
  CellFilter filter;
  for (const char* text : {"runner=v2", "mode=all,align"}) ASSERT_TRUE(filter.add(text).ok());
  EXPECT_EQ(filter.text(), "mode=align,all runner=v2");
}

TEST(CellFilter, TellsWhichAxesAndValuesThereAre) {
  CellFilter filter;
  EXPECT_THAT(filter.add("mdoe=align").error().message,
              StartsWith("there is no axis \"mdoe\", did you mean \"mode\"?"));
  EXPECT_THAT(filter.add("runner").error().message,
              HasSubstr("names no value (expected runner=VALUE,... of v1, v2)"));
  EXPECT_THAT(filter.add("runner=v3").error().message,
              HasSubstr("axis runner has no value \"v3\""));
}

// Of one scenario.
EventCounts events_of(const std::string& text) {
  const auto scenario = parse_scenario({.text = text, .file = "test"});
  EventCounts counts = {};
  check_scenario(scenario.value(), {}).value().events.add_to(counts);
  return counts;
}

std::int64_t times(const EventCounts& counts, MatrixEvent event) {
  return counts[static_cast<std::size_t>(event)].times;
}

// B = 8, K = 3. Step 2 takes A from 6 to 9 tokens, past the boundary at 8: its state after 8 tokens
// lies in column 2 and is copied to column 0, so that the window shifts by 1; step 3 begins in
// block 1 and copies the state there.
TEST(MatrixEvents, CopiesOfABoundaryThatDraftsCross) {
  const EventCounts counts = events_of(R"({"version": 1, "model": "tiny-mamba2",
    "settings": {"mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 32,
      "max_model_len": 64, "async_scheduling": false,
      "speculative_config": {"method": "mtp", "num_speculative_tokens": 3}},
    "requests": [{"id": "A", "prompt": 6, "max_tokens": 5}],
    "script": [{"step": 2, "accept": {"A": 3}}]})");
  EXPECT_GE(times(counts, MatrixEvent::post_copy), 1);
  EXPECT_GE(times(counts, MatrixEvent::bias), 1);
  EXPECT_GE(times(counts, MatrixEvent::pre_copy), 1);
  EXPECT_EQ(times(counts, MatrixEvent::hit), 0);
  EXPECT_EQ(times(counts, MatrixEvent::preemption), 0);
}

// Two decodes in graphs for 4 rows have 2 padding rows in each of 3 steps.
TEST(MatrixEvents, PaddingRows) {
  const EventCounts counts = events_of(R"({"version": 1, "model": "tiny-mamba2",
    "settings": {"mamba_cache_mode": "none", "block_size": 8, "num_gpu_blocks_override": 32,
      "max_model_len": 64, "async_scheduling": false, "cudagraph_capture_sizes": [4]},
    "requests": [{"id": "A", "prompt": 6, "max_tokens": 4}, {"id": "B", "prompt": 6, "max_tokens": 4}]})");
  EXPECT_EQ(times(counts, MatrixEvent::padded_row), 3 * 2);
  EXPECT_EQ(counts[static_cast<std::size_t>(MatrixEvent::padded_row)].scenarios, 1);
}

// A budget of 0 in step 3 leaves both out; they come back in step 4.
TEST(MatrixEvents, RequestsThatAStepLeftOut) {
  const EventCounts counts = events_of(R"({"version": 1, "model": "tiny-mamba2",
    "settings": {"mamba_cache_mode": "none", "block_size": 8, "num_gpu_blocks_override": 32,
      "max_model_len": 64, "async_scheduling": false},
    "requests": [{"id": "A", "prompt": 6, "max_tokens": 6}, {"id": "B", "prompt": 6, "max_tokens": 6}],
    "script": [{"step": 3, "budget": 1}]})");
  EXPECT_EQ(times(counts, MatrixEvent::skipped_step), 1);
}

TEST(MatrixEvents, ACommandThatPreempts) {
  const EventCounts counts = events_of(R"({"version": 1, "model": "tiny-mamba2",
    "settings": {"mamba_cache_mode": "none", "block_size": 8, "num_gpu_blocks_override": 32,
      "max_model_len": 64},
    "requests": [{"id": "A", "prompt": 6, "max_tokens": 6}],
    "script": [{"step": 3, "preempt": ["A"]}]})");
  EXPECT_EQ(times(counts, MatrixEvent::preemption), 1);
  EXPECT_EQ(times(counts, MatrixEvent::frame_rolled_back), 1);
}

TEST(MatrixEvents, BelongToTheCellsInWhichTheyCanHappen) {
  const auto belongs = [](MatrixEvent event, const std::string& cell, const PolicySet& policies) {
    return matrix_event_table()[static_cast<std::size_t>(event)].belongs_to(cell_called(cell),
                                                                            policies);
  };
  const std::string align =
      "align/mtp1/on/SD/v1/async/full_and_piecewise/preemption/dense/block/none";
  const std::string all = "all/mtp1/on/SD/v1/async/full_and_piecewise/none/dense/block/none";
  const std::string none = "none/none/off/SD/v1/sync/none/budget/dense/block/none";
  EXPECT_TRUE(belongs(MatrixEvent::pre_copy, align, safe_policies()));
  EXPECT_FALSE(belongs(MatrixEvent::pre_copy, all, safe_policies()));
  EXPECT_TRUE(belongs(MatrixEvent::post_copy, all, safe_policies()));
  EXPECT_FALSE(
      belongs(MatrixEvent::post_copy, all, reference_policies()));  // boundaries are not stored
  EXPECT_FALSE(belongs(MatrixEvent::hit, none, safe_policies()));
  EXPECT_FALSE(belongs(MatrixEvent::padded_row, none, safe_policies()));
  EXPECT_TRUE(belongs(MatrixEvent::skipped_step, none, safe_policies()));
  EXPECT_TRUE(belongs(MatrixEvent::frame_rolled_back, align, safe_policies()));
  const std::string finer = "align/none/on/SD/v1/sync/none/none/dense/finer/in_prefills";
  EXPECT_TRUE(belongs(MatrixEvent::checkpoint, finer, safe_policies()));
  EXPECT_FALSE(belongs(MatrixEvent::checkpoint, align, safe_policies()));
  EXPECT_TRUE(belongs(MatrixEvent::block_copy, finer, safe_policies()));
  EXPECT_FALSE(belongs(MatrixEvent::block_copy, finer, reference_policies()));
}

TEST(MatrixEvents, TheTableIsInTheOrderOfTheEnum) {
  std::size_t i = 0;
  for (const MatrixEventInfo& info : matrix_event_table())
    EXPECT_EQ(static_cast<std::size_t>(info.event), i++) << info.name;
  EXPECT_EQ(i, kNumMatrixEvents);
}

CellResult result(const std::string& name, CellVerdict verdict, std::vector<CellFault> faults) {
  return {.cell = cell_called(name),
          .verdict = verdict,
          .num_scenarios = verdict == CellVerdict::refused ? 0 : 10,
          .faults = std::move(faults)};
}

CellFault fault(const std::string& bugs) { return {.cause = bugs, .scenarios = 2}; }

class Summaries : public testing::Test {
 protected:
  void add(const std::string& name, CellVerdict verdict, std::vector<CellFault> faults = {}) {
    contents_.cells[name] = result(name, verdict, std::move(faults));
  }
  MatrixSummary summary() const {
    return summarize_matrix(
        contents_, cells_with({"mode=align", "prefix_caching=on", "layout=SD", "scheduling=sync",
                               "graphs=none", "pressure=none", "retention=dense",
                               "match_unit=block", "checkpoints=none"}));
  }
  MatrixContents contents_;
};

TEST_F(Summaries, CountCellsByVerdictAndThoseThatWereNotRun) {
  add("align/none/on/SD/v1/sync/none/none/dense/block/none", CellVerdict::safe);
  add("align/mtp1/on/SD/v1/sync/none/none/dense/block/none", CellVerdict::has_findings,
      {fault("a")});
  add("align/mtp2/on/SD/v1/sync/none/none/dense/block/none", CellVerdict::untested);
  add("align/ngram/on/SD/v2/sync/none/none/dense/block/none", CellVerdict::refused);
  const MatrixSummary all = summary();
  EXPECT_EQ(all.cells.safe, 1);
  EXPECT_EQ(all.cells.with_findings, 1);
  EXPECT_EQ(all.cells.untested, 1);
  EXPECT_EQ(all.cells.refused, 1);
  EXPECT_EQ(all.cells.not_run, 10 - 4);
  EXPECT_EQ(all.num_scenarios, 30);
  EXPECT_FALSE(all.all_safe());
}

TEST_F(Summaries, TellAFaultByTheValuesThatItNeeds) {
  add("align/none/on/SD/v1/sync/none/none/dense/block/none", CellVerdict::safe);
  for (const std::string runner : {"v1", "v2"})
    for (const std::string speculation : {"mtp1", "mtp3"})
      add("align/" + speculation + "/on/SD/" + runner + "/sync/none/none/dense/block/none",
          CellVerdict::has_findings, {fault("a"), fault("b+c")});
  add("align/ngram/on/SD/v1/sync/none/none/dense/block/none", CellVerdict::has_findings,
      {fault("d")});
  const MatrixSummary all = summary();
  ASSERT_EQ(all.faults.size(), 3U);
  EXPECT_EQ(all.faults[0].cause, "a");
  EXPECT_EQ(all.faults[0].cells, 4);
  EXPECT_EQ(all.faults[0].where, "speculation mtp1, mtp3");
  EXPECT_EQ(all.faults[1].cause, "b+c");  // not an accident: neither was found alone
  EXPECT_EQ(all.faults[2].where, "speculation ngram; runner v1");
}

TEST_F(Summaries, CallCombinationsOfBugsThatWereFoundAloneAccidents) {
  add("align/mtp1/on/SD/v1/sync/none/none/dense/block/none", CellVerdict::has_findings,
      {fault("a"), fault("a+b"), fault("a+c")});
  add("align/mtp2/on/SD/v1/sync/none/none/dense/block/none", CellVerdict::has_findings,
      {fault("b"), fault("a+b")});
  const MatrixSummary all = summary();
  ASSERT_EQ(all.faults.size(), 4U);
  EXPECT_EQ(all.faults.back().cause, "a+b");  // accidents last
  EXPECT_TRUE(all.faults.back().accident);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_FALSE(all.faults[i].accident);
}

TEST_F(Summaries, AreSafeWhenEveryCellThatRunsIs) {
  for (const MatrixCell& cell : cells_with({"mode=align", "prefix_caching=on", "layout=SD",
                                            "scheduling=sync", "graphs=none", "pressure=none"}))
    add(cell_name(cell), CellVerdict::safe);
  EXPECT_TRUE(summary().all_safe());
  EXPECT_TRUE(summary().faults.empty());
}

CellResult cell_with(const std::string& name, std::vector<CellFault> faults) {
  return {.cell = cell_called(name),
          .verdict = CellVerdict::has_findings,
          .num_scenarios = 1,
          .faults = std::move(faults)};
}

CellFault fault_at(const std::string& bugs, std::int64_t index, std::int64_t num_requests) {
  return {.cause = bugs, .scenarios = 1, .index = index, .num_requests = num_requests};
}

std::vector<std::string> keys(const std::vector<FaultCandidates>& faults) {
  std::vector<std::string> names;
  for (const FaultCandidates& one : faults) names.push_back(one.key);
  return names;
}

MatrixContents contents_of(std::vector<CellResult> cells) {
  MatrixContents contents;
  for (CellResult& cell : cells) {
    const std::string name = cell_name(cell.cell);
    contents.cells[name] = std::move(cell);
  }
  return contents;
}

TEST(CollectedFaults, OfBugsThatWereFoundAloneNoPairIsKept) {
  const MatrixContents contents = contents_of({cell_with(
      "all/mtp1/on/SD/v1/sync/none/none/dense/block/none",
      {fault_at("a", 1, 2), fault_at("b", 1, 2), fault_at("a+b", 2, 2), fault_at("b+c", 3, 2)})});
  EXPECT_THAT(keys(collect_faults(contents)), ElementsAre("a", "b", "b+c"));
}

TEST(CollectedFaults, TheSmallestScenariosOfFourCellsAreTried) {
  std::vector<CellResult> cells;
  std::int64_t index = 0;
  for (const std::string pressure : {"none", "budget", "preemption", "reset"})
    for (const std::string graphs : {"none", "full", "piecewise"}) {
      cells.push_back(
          cell_with("all/mtp1/on/SD/v1/sync/" + graphs + "/" + pressure + "/dense/block/none",
                    {fault_at("a", index, 12 - index)}));
      ++index;
    }
  const auto faults = collect_faults(contents_of(std::move(cells)));
  ASSERT_EQ(faults.size(), 1U);
  std::vector<std::int64_t> requests;
  for (const FaultCandidates::Place& place : faults[0].places)
    requests.push_back(place.num_requests);
  EXPECT_THAT(requests, ElementsAre(1, 2, 3, 4));
}

TEST(CollectedFaults, WhatNothingExplainsGoesByItsKind) {
  CellResult cell = cell_with("all/mtp1/on/SD/v1/sync/none/none/dense/block/none", {});
  cell.unexplained = {{{Rule::label_mismatch, "not filled to its end"}, 3, 9}};
  const auto faults = collect_faults(contents_of({cell}));
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].key, "label-mismatch not filled to its end");
  EXPECT_EQ(faults[0].cause, "");
  EXPECT_EQ(faults[0].places[0].index, 9);
}

TEST(FaultCause, GivesThePoliciesBack) {
  const PolicyOverrides expected = {AcceptedCountOwner::persistent_row, RowOrder::query_len};
  EXPECT_EQ(policies_of_cause("skipped-step-forgets-accepted-count+row_order=query_len").value(),
            expected);
}

TEST(FaultCause, OfBugsThatFitEquallyHasTheirPolicies) {
  EXPECT_EQ(policies_of_cause("resumed-tail-runs-as-decode or one-token-first-chunk-as-decode+"
                              "row_order=query_len")
                .value(),
            (PolicyOverrides{RowClassing::by_shape_past_the_prompt, RowOrder::query_len}));
}

TEST(FaultCause, ThatIsNoneIsRefused) {
  EXPECT_FALSE(policies_of_cause("mid-block-chunk-poisons-slot+").ok());
  EXPECT_EQ(policies_of_cause("row_order=query").error().message,
            "there is no policy with this value: row_order=query");
  EXPECT_FALSE(policies_of_cause("row_oder=query_len").ok());
}

}  // namespace
}  // namespace hybridscope::test::matrix_cell_test
