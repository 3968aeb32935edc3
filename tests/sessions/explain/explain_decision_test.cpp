#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/state/copy_decision.h"
#include "sessions/explain/explain_decision.h"
#include "sessions/explain/explain_parts.h"

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

using testing::ElementsAre;

// Group 0 is attention, group 1 recurrent; blocks of 16.
KVCacheConfig two_groups() {
  KVCacheConfig config;
  config.groups.push_back({.spec = FullAttentionSpec{}, .layers = {0}});
  config.groups.push_back({.spec = MambaSpec{}, .layers = {1}});
  return config;
}

void copy_block(StepTrace& trace, std::int32_t group, std::int32_t from, std::int32_t to) {
  for (const auto& [kind, block] :
       {std::pair{CacheEventKind::copied_from, from}, std::pair{CacheEventKind::copied_to, to}})
    trace.cache_events.push_back({.kind = kind, .group = group, .request = {0}, .block = block});
}

std::vector<std::string> words_of(const StepTrace& trace) {
  std::vector<std::string> words;
  for (const ExplainedBlockCopy& copy : explained_block_copies(trace, two_groups()))
    words.push_back(block_copy_words(copy, numbered_names()));
  return words;
}

// The request runs on in block 6, so the key of 20 tokens goes to block 8.
TEST(BlockCopies, ARunningRequestLeavesTheCopyToThePrefixCache) {
  StepTrace trace;
  trace.cache_events.push_back({.kind = CacheEventKind::registered,
                                .group = 1,
                                .request = {0},
                                .block = 8,
                                .num_tokens = 20});
  copy_block(trace, 1, 6, 8);
  EXPECT_THAT(words_of(trace),
              ElementsAre("block 6 -> 8: r0 writes on in block 6, and the prefix cache keeps S(20) "
                          "in the copy"));
}

TEST(BlockCopies, AHitThatEndsInsideABlockIsCopiedForTheRequest) {
  StepTrace trace;
  trace.scheduled.push_back(
      {.request = {0}, .admission = Admission::new_request, .num_hit_tokens = 20});
  trace.cache_events.push_back(
      {.kind = CacheEventKind::column_set, .group = 0, .request = {0}, .column = 1, .block = 12});
  copy_block(trace, 0, 5, 12);
  const auto copies = explained_block_copies(trace, two_groups());
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].column, 1);
  EXPECT_EQ(copies[0].num_tokens, 20);
  EXPECT_FALSE(copies[0].is_mamba);
  EXPECT_THAT(words_of(trace), ElementsAre("block 5 -> 12: the hit of 20 tokens ends inside block "
                                           "5, so r0 writes on in a copy"));
}

TEST(BlockCopies, StandInTheOrderInWhichTheyAreMade) {
  StepTrace trace;
  copy_block(trace, 1, 9, 4);
  copy_block(trace, 0, 5, 12);
  copy_block(trace, 2, 1, 2);
  EXPECT_THAT(words_of(trace),
              ElementsAre("block 9 -> 4: r0 writes on in block 9, and the prefix cache keeps what "
                          "was registered in the copy",
                          "block 5 -> 12: r0 writes on in block 5, and the prefix cache keeps what "
                          "was registered in the copy"))
      << "there is no group 2";
}

using Reason = CudagraphDispatchReason;

TEST(ExplainDispatch, AFullGraphPadsRowsAndTokens) {
  EXPECT_EQ(explain_dispatch({.dispatch = {CUDAGraphMode::full, 8, 4, Reason::uniform_decode_graph},
                              .num_tokens = 6,
                              .num_reqs = 3,
                              .uniform_decode = true,
                              .num_spec = 1}),
            "6 tokens in 3 rows: a uniform decode (1 + K = 2 tokens a row); runtime mode FULL: the "
            "graph of uniform decode batches; captured size 8: 2 tokens of padding and 1 padding "
            "row without tokens, length or blocks");
}

TEST(ExplainDispatch, AnExactFitPadsNothing) {
  EXPECT_EQ(explain_dispatch({.dispatch = {CUDAGraphMode::full, 1, 1, Reason::uniform_decode_graph},
                              .num_tokens = 1,
                              .num_reqs = 1,
                              .uniform_decode = true}),
            "1 token in 1 row: a uniform decode (1 + K = 1 token a row); runtime mode FULL: the "
            "graph of uniform decode batches; captured size 1: nothing to pad");
}

TEST(ExplainDispatch, APiecewiseGraphHidesItsPaddingFromTheMetadata) {
  EXPECT_EQ(explain_dispatch({.dispatch = {CUDAGraphMode::piecewise, 8, 1, Reason::not_uniform},
                              .num_tokens = 7,
                              .num_reqs = 1,
                              .num_spec = 1}),
            "7 tokens in 1 row: not a uniform decode; runtime mode PIECEWISE: full graphs are for "
            "uniform decode batches only; captured size 8: 1 token of padding that the metadata "
            "does not see");
}

TEST(ExplainDispatch, WithoutAGraphNothingIsPadded) {
  EXPECT_EQ(explain_dispatch({.dispatch = {CUDAGraphMode::none, 900, 2, Reason::above_largest_size},
                              .num_tokens = 900,
                              .num_reqs = 2}),
            "900 tokens in 2 rows: not a uniform decode; runtime mode NONE: the batch is larger "
            "than the largest captured size");
}

TEST(ExplainDispatch, ABatchWithoutAGraphIsToldWhereItWouldHaveBeen) {
  EXPECT_EQ(explain_dispatch({.dispatch = {CUDAGraphMode::none, 5, 2, Reason::no_graph_for_batch},
                              .num_tokens = 5,
                              .num_reqs = 2}),
            "5 tokens in 2 rows: not a uniform decode; runtime mode NONE: at the captured size "
            "that fits there is no graph for this kind of batch");
}

TEST(ExplainDispatch, ModesAreSpelledAsOnTheCommandLine) {
  EXPECT_EQ(cudagraph_mode_name(CUDAGraphMode::full_and_piecewise), "FULL_AND_PIECEWISE");
}

TEST(ExplainDispatch, SaysWhatTheTraceDoesNotSay) {
  EXPECT_EQ(explain_dispatch({.dispatch = {.runtime_mode = CUDAGraphMode::none},
                              .num_tokens = 3,
                              .num_reqs = 1,
                              .reason_known = false}),
            "3 tokens in 1 row; runtime mode NONE: the trace does not say why");
}

}  // namespace

}  // namespace hybridscope::explain_decision_test
