// The worked example of runner V2's slots (semantics: accepted-counts-v2).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/engine/worker_bench_v2.h"

namespace hybridscope::test::slot_example_test {
namespace {

using testing::ElementsAre;
using enum Admission;

constexpr RequestId A{0}, B{1};

// At most 4 requests, align, B = 4, K = 1.
class SlotExample : public testing::Test {
 protected:
  SlotExample()
      : bench_(config_v2({.block_size = 4,
                          .num_speculative_tokens = 1,
                          .num_attention_groups = 0,
                          .max_model_len = 32,
                          .max_num_seqs = 4})) {
    bench_.add(6);
    bench_.add(5);
  }
  const StepTrace& frame_1() {
    return bench_.frame(
        {{.request = A, .admission = new_request, .q = 6, .known = 6, .new_blocks = {0, 1, 2}}});
  }
  const StepTrace& frame_2() {
    return bench_.frame({{.request = A, .c = 6, .q = 2, .d = 1, .known = 7, .a = 2}});
  }
  const StepTrace& frame_3() {
    return bench_.frame({{.request = A, .c = 8, .q = 2, .d = 1, .known = 9, .new_blocks = {3}},
                         {.request = B,
                          .admission = new_request,
                          .c = 4,
                          .q = 2,
                          .d = 1,
                          .known = 5,
                          .new_blocks = {7, 8, 9},
                          .padded = true}});
  }
  WorkerBenchV2 bench_;
};

TEST_F(SlotExample, APromptStartsInItsLastColumn) {
  const StepTrace& trace = frame_1();
  EXPECT_THAT(idx_mapping(trace), ElementsAre(3));
  EXPECT_TRUE(trace.pre_copies.copies.empty());
  EXPECT_EQ(trace.pre_copies.decisions.at(0).decision.outcome, StateCopyOutcome::fresh_state);
  EXPECT_EQ(trace.post_copies.decisions.at(0).decision.outcome, StateCopyOutcome::no_boundary);
  EXPECT_EQ(bench_.align().src_col[3], -1);
  EXPECT_EQ(bench_.align().state_idx[3], 1);
  EXPECT_EQ(bench_.slots().num_computed_tokens()[3], 6);
  EXPECT_EQ(bench_.align().num_accepted_tokens[3], 1);
}

TEST_F(SlotExample, ABoundaryInTheRunningColumnIsShiftedIntoPlace) {
  frame_1();
  const StepTrace& trace = frame_2();
  EXPECT_TRUE(trace.pre_copies.copies.empty());
  ASSERT_EQ(trace.post_copies.decisions.size(), 1U);
  const StateCopyDecision& post = trace.post_copies.decisions[0].decision;
  EXPECT_EQ(post.rule, StateCopyRule::postprocess_mamba_v2);
  EXPECT_EQ(post.new_num_computed_tokens, 8);
  EXPECT_EQ(post.num_tokens_running_state, 7);
  EXPECT_EQ(post.outcome, StateCopyOutcome::within_block_shift);
  ASSERT_EQ(trace.post_copies.copies.size(), 1U);
  const StateCopyTrace& copy = trace.post_copies.copies[0];
  EXPECT_EQ(copy.conv_src_block, 1);
  EXPECT_EQ(copy.temporal_src_block, 2);
  EXPECT_EQ(copy.dst_block, 1);
  EXPECT_EQ(copy.accept_token_bias, 1);
  EXPECT_EQ(bench_.slots().num_computed_tokens()[3], 8);
  EXPECT_EQ(bench_.align().num_accepted_tokens[3], 1);
}

TEST_F(SlotExample, BothRequestsMoveTheirStateToTheNextColumn) {
  frame_1();
  frame_2();
  const StepTrace& trace = frame_3();
  EXPECT_THAT(requests(trace), ElementsAre(A, B));
  EXPECT_THAT(idx_mapping(trace), ElementsAre(3, 2));
  EXPECT_EQ(bench_.align().src_col[3], 1);
  EXPECT_EQ(bench_.align().src_off[3], 0);
  EXPECT_EQ(bench_.align().state_idx[3], 2);
  EXPECT_EQ(bench_.align().src_col[2], 0);
  EXPECT_EQ(bench_.align().src_off[2], 0);
  EXPECT_EQ(bench_.align().state_idx[2], 1);
  ASSERT_EQ(trace.pre_copies.copies.size(), 2U);
  EXPECT_EQ(trace.pre_copies.copies[0].conv_src_block, 1);
  EXPECT_EQ(trace.pre_copies.copies[0].dst_block, 2);
  EXPECT_EQ(trace.pre_copies.copies[1].conv_src_block, 7);
  EXPECT_EQ(trace.pre_copies.copies[1].dst_block, 8);
  EXPECT_EQ(trace.rows[0].num_draft_count, 1);
  EXPECT_FALSE(trace.rows[0].is_prefilling);
  EXPECT_EQ(trace.rows[1].num_draft_count, -1);
  EXPECT_TRUE(trace.rows[1].is_prefilling);
  EXPECT_EQ(trace.rows[0].origin, RowOrigin::kept);
  EXPECT_EQ(trace.rows[1].origin, RowOrigin::added);
}

TEST_F(SlotExample, TheListedDecisionIsWhatThePreCopyKernelDoes) {
  frame_1();
  frame_2();
  for (const CopyDecisionTrace& entry : frame_3().pre_copies.decisions) {
    const auto slot = static_cast<std::size_t>(bench_.slots().slot_of(entry.request));
    const StateCopyDecision kernel =
        decide_precopy_v2({.src_col = bench_.align().src_col[slot],
                           .src_off = bench_.align().src_off[slot],
                           .state_idx = bench_.align().state_idx[slot]});
    EXPECT_EQ(kernel.copies(), entry.decision.copies());
    EXPECT_EQ(kernel.src_col, entry.decision.src_col);
    EXPECT_EQ(kernel.dst_col, entry.decision.dst_col);
    EXPECT_EQ(kernel.accept_token_bias, entry.decision.accept_token_bias);
  }
}

}  // namespace
}  // namespace hybridscope::test::slot_example_test
