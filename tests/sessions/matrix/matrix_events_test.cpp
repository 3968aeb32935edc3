#include "sessions/matrix/matrix_events.h"

#include <gtest/gtest.h>

#include "core/engine/policy_table.h"
#include "sessions/matrix/cell_result.h"
#include "sessions/scenario/scenario_reader.h"
#include "tests/sessions/matrix/small_matrix.h"

namespace hybridscope::test::matrix_events_test {
namespace {

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

}  // namespace
}  // namespace hybridscope::test::matrix_events_test
