#include "sessions/explain/explain_decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/state/copy_decision.h"

namespace hybridscope::explain_decision_test {
namespace {

TEST(ExplainDecision, PreCopyOfAFreshRequest) {
  EXPECT_EQ(explain_decision(decide_preprocess_v1({.num_computed_tokens = 0,
                                                   .num_scheduled_tokens = 6,
                                                   .num_accepted_tokens = 1,
                                                   .block_size = 8})),
            "column before = floor((c - 1) / B) = floor((0 - 1) / 8) = -1; running column = "
            "ceil((c + q) / B) - 1 = ceil((0 + 6) / 8) - 1 = 0: nothing is stored for the request "
            "yet, nothing to copy");
}

TEST(ExplainDecision, PreCopyInTheSameColumn) {
  EXPECT_EQ(explain_decision(decide_preprocess_v1({.has_mamba_state_idx = true,
                                                   .mamba_state_idx = 0,
                                                   .num_computed_tokens = 6,
                                                   .num_scheduled_tokens = 2,
                                                   .num_accepted_tokens = 1,
                                                   .block_size = 8})),
            "column before = 0 (remembered); running column = ceil((c + q) / B) - 1 = ceil((6 + 2) "
            "/ 8) - 1 = 0: the running column stays, nothing to copy");
}

TEST(ExplainDecision, PreCopyToTheNextColumn) {
  EXPECT_EQ(explain_decision(decide_preprocess_v1({.has_mamba_state_idx = true,
                                                   .mamba_state_idx = 0,
                                                   .num_computed_tokens = 7,
                                                   .num_scheduled_tokens = 2,
                                                   .num_accepted_tokens = 2,
                                                   .block_size = 8})),
            "column before = 0 (remembered); running column = ceil((c + q) / B) - 1 = ceil((7 + 2) "
            "/ 8) - 1 = 1 != 0: bias = a - 1 = 2 - 1 = 1: copy: the temporal state of column 0 + 1 "
            "= 1 and conv positions 1.. of column 0 go to column 1; accepted count := 1");
}

// Another engine's trace may lack a copy that the rule makes.
TEST(ExplainDecision, ACopyThatIsMissing) {
  StateCopyDecision pre = decide_preprocess_v1({.has_mamba_state_idx = true,
                                                .mamba_state_idx = 0,
                                                .num_computed_tokens = 8,
                                                .num_scheduled_tokens = 2,
                                                .num_accepted_tokens = 1,
                                                .block_size = 8});
  pre.outcome = StateCopyOutcome::same_column;
  EXPECT_THAT(
      explain_decision(pre),
      testing::EndsWith("1 != 0: bias = a - 1 = 1 - 1 = 0: a copy by the rule, but none was "
                        "made"));
}

TEST(ExplainDecision, SaysFromWhichStepAColumnIsRemembered) {
  StepTrace trace;
  trace.step = 7;
  trace.scheduled = {{.request = RequestId{0}}, {.request = RequestId{1}}};
  trace.scheduled[1].admission = Admission::resumed;
  const OwnCount own{.step = 5};
  EXPECT_EQ(remembered_words(trace, RequestId{0}, own), "remembered from step 5");
  EXPECT_EQ(remembered_words(trace, RequestId{1}, own),
            "remembered from step 5, before it was preempted");
  EXPECT_EQ(remembered_words(trace, RequestId{0}, std::nullopt), "remembered");
}

TEST(ExplainDecision, PreCopyFromThePrefixHit) {
  EXPECT_EQ(explain_decision(decide_preprocess_v1({.num_computed_tokens = 24,
                                                   .num_scheduled_tokens = 16,
                                                   .num_accepted_tokens = 1,
                                                   .block_size = 8})),
            "column before = floor((c - 1) / B) = floor((24 - 1) / 8) = 2; running column = "
            "ceil((c + q) / B) - 1 = ceil((24 + 16) / 8) - 1 = 4 != 2: bias = a - 1 = 1 - 1 = 0: "
            "copy: the temporal state of column 2 + 0 = 2 and conv positions 0.. of column 2 go to "
            "column 4; accepted count := 1");
}

TEST(ExplainDecision, AdvanceOfTheSecondRunner) {
  EXPECT_EQ(explain_decision(decide_align_advance_v2({.state_idx = 1,
                                                      .num_accepted_tokens = 3,
                                                      .num_computed_tokens = 15,
                                                      .query_len = 4,
                                                      .block_size = 8})),
            "column before = state_idx = 1; running column = ceil((c + q) / B) - 1 = ceil((15 + 4) "
            "/ 8) - 1 = 2 != 1: bias = a - 1 = 3 - 1 = 2: copy: the temporal state of column 1 + 2 "
            "= 3 and conv positions 2.. of column 1 go to column 2; accepted count := 1");
}

TEST(ExplainDecision, PreCopyOfTheSecondRunner) {
  EXPECT_EQ(explain_decision(decide_precopy_v2({.src_col = 1, .src_off = 2, .state_idx = 2})),
            "source column = 1 and bias = 2 (from the advance); running column = 2: copy: the "
            "temporal state of column 1 + 2 = 3 and conv positions 2.. of column 1 go to column 2");
  EXPECT_EQ(explain_decision(decide_precopy_v2({.src_col = -1, .src_off = 0, .state_idx = 0})),
            "source column = -1 and bias = 0 (from the advance); running column = 0: nothing is "
            "stored for the request yet, nothing to copy");
}

TEST(ExplainDecision, PostCopyWithinTheBlock) {
  EXPECT_EQ(explain_decision(decide_postprocess_v1({.num_accepted_tokens = 2,
                                                    .mamba_state_idx = 0,
                                                    .num_scheduled_tokens = 2,
                                                    .num_computed_tokens = 6,
                                                    .num_draft_tokens = 1,
                                                    .block_size = 8})),
            "running = c + q - d = 6 + 2 - 1 = 7; new = running + a - 1 = 7 + 2 - 1 = 8; aligned = "
            "floor(8 / 8) * 8 = 8 >= running 7: bias = aligned - running = 1; source column 0, "
            "destination column 8 / 8 - 1 = 0: within-block shift: the temporal state of column 0 "
            "+ 1 = 1 and conv positions 1.. of column 0 go to column 0; accepted count := 1");
}

TEST(ExplainDecision, PostCopyBackwards) {
  EXPECT_EQ(explain_decision(decide_postprocess_v1({.num_accepted_tokens = 3,
                                                    .mamba_state_idx = 1,
                                                    .num_scheduled_tokens = 4,
                                                    .num_computed_tokens = 6,
                                                    .num_draft_tokens = 3,
                                                    .block_size = 8})),
            "running = c + q - d = 6 + 4 - 3 = 7; new = running + a - 1 = 7 + 3 - 1 = 9; aligned = "
            "floor(9 / 8) * 8 = 8 >= running 7: bias = aligned - running = 1; source column 1, "
            "destination column 8 / 8 - 1 = 0: copy: the temporal state of column 1 + 1 = 2 and "
            "conv positions 1.. of column 1 go to column 0");
}

TEST(ExplainDecision, PostCopyOntoItselfIsSkipped) {
  EXPECT_EQ(explain_decision(decide_postprocess_v1({.num_accepted_tokens = 1,
                                                    .mamba_state_idx = 0,
                                                    .num_scheduled_tokens = 8,
                                                    .num_computed_tokens = 0,
                                                    .num_draft_tokens = 0,
                                                    .block_size = 8})),
            "running = c + q - d = 0 + 8 - 0 = 8; new = running + a - 1 = 8 + 1 - 1 = 8; aligned = "
            "floor(8 / 8) * 8 = 8 >= running 8: bias = aligned - running = 0; source column 0, "
            "destination column 8 / 8 - 1 = 0: column 0 holds it already, nothing to copy; "
            "accepted count := 1");
}

TEST(ExplainDecision, PostCopyWithoutABoundary) {
  EXPECT_EQ(explain_decision(decide_postprocess_v1({.num_accepted_tokens = 1,
                                                    .mamba_state_idx = 1,
                                                    .num_scheduled_tokens = 2,
                                                    .num_computed_tokens = 8,
                                                    .num_draft_tokens = 1,
                                                    .block_size = 8})),
            "running = c + q - d = 8 + 2 - 1 = 9; new = running + a - 1 = 9 + 1 - 1 = 9; aligned = "
            "floor(9 / 8) * 8 = 8 < running 9: no block boundary was reached, nothing to copy");
}

TEST(ExplainDecision, PostCopyOfTheSecondRunnerIsGivenTheNewCount) {
  EXPECT_EQ(explain_decision(decide_postprocess_v2({.num_accepted_tokens = 2,
                                                    .state_idx = 0,
                                                    .new_num_computed_tokens = 8,
                                                    .block_size = 8})),
            "new = 8 (given); running = new - a + 1 = 8 - 2 + 1 = 7; aligned = floor(8 / 8) * 8 = "
            "8 >= running 7: bias = aligned - running = 1; source column 0, destination column 8 / "
            "8 - 1 = 0: within-block shift: the temporal state of column 0 + 1 = 1 and conv "
            "positions 1.. of column 0 go to column 0; accepted count := 1");
}

TEST(ExplainDecision, BoundaryCopyOfModeAll) {
  EXPECT_EQ(explain_decision(decide_all_mode_boundary_copy({.num_computed_tokens = 5,
                                                            .num_accepted_tokens = 3,
                                                            .last_scheduled_col = 1,
                                                            .block_size = 8},
                                                           1)),
            "boundary 8 lies in c + 1 .. c + a = 6 .. 8; query token t went to column L + t, L = "
            "1: bias = 8 - c - 1 = 8 - 5 - 1 = 2; destination column 8 / 8 - 1 = 0: copy: the "
            "temporal state of column 1 + 2 = 3 and conv positions 2.. of column 1 go to column 0");
}

TEST(ExplainDecision, APaddedRowHoldsNoRequest) {
  EXPECT_EQ(explain_decision({.outcome = StateCopyOutcome::padded_row}),
            "the row holds no request");
}

TEST(ExplainDecision, NamesTheFunctionOfTheRule) {
  EXPECT_EQ(decision_source(StateCopyRule::preprocess_mamba),
            "vLLM v1/worker/mamba_utils.py preprocess_mamba");
  EXPECT_EQ(decision_source(StateCopyRule::postprocess_mamba_v1),
            "vLLM v1/worker/mamba_utils.py postprocess_mamba_fused_kernel");
  EXPECT_EQ(decision_source(StateCopyRule::all_mode_boundary),
            "docs/differences.md all_mode_speculation");
}

TEST(ExplainDecision, OutcomesHaveStableNames) {
  EXPECT_EQ(outcome_name(StateCopyOutcome::within_block_shift), "within_block_shift");
  EXPECT_EQ(outcome_name(StateCopyOutcome::no_boundary), "no_boundary");
}

TEST(ExplainDecision, NamesTheStatesThatLayersKeep) {
  const StateCopyDecision decision =
      decide_precopy_v2({.src_col = 0, .src_off = 1, .state_idx = 2});
  EXPECT_THAT(explain_decision(decision, {.temporal = true, .conv = false}),
              testing::EndsWith(": copy: the temporal state of column 0 + 1 = 1 goes to column 2"));
  EXPECT_THAT(explain_decision(decision, {.temporal = false, .conv = true}),
              testing::EndsWith(": copy: conv positions 1.. of column 0 go to column 2"));
}

}  // namespace
}  // namespace hybridscope::explain_decision_test
