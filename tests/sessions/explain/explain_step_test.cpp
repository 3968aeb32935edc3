#include "sessions/explain/explain_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/caching/block_pool_policies.h"
#include "core/engine/aligned_split_policies.h"
#include "core/engine/policy_table.h"
#include "core/engine/scheduler_policies.h"
#include "tests/sessions/explain/explained_run.h"

namespace hybridscope::explain_step_test {
namespace {

using test::ExplainedRun;
using test::SmallEngine;
using ::testing::HasSubstr;
using ::testing::Not;

// HYBRIDSCOPE_UPDATE_GOLDEN=1 writes the file instead.
void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(HYBRIDSCOPE_SOURCE_DIR) + "/tests/sessions/explain/" + name;
  if (std::getenv("HYBRIDSCOPE_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << path;
  std::ostringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(text, expected.str()) << "HYBRIDSCOPE_UPDATE_GOLDEN=1 accepts the new text";
}

// Block size 8, one draft a step, a prompt of 6 tokens, two tokens accepted in step 2.
TEST(ExplainStep, TellsAWholeStep) {
  ExplainedRun run(test::engine_config({.num_speculative_tokens = 1, .num_blocks = 16}));
  const RequestId a = run.add("A", 6, 4);
  run.step(1);
  ASSERT_TRUE(run.engine().apply(SetAcceptedTokens{a, 2}).ok());
  expect_golden("explain_step_2.txt", run.step(2));
}

// Of a model with a conv window alone, in the steps up to the copy at token 9.
TEST(ExplainStep, TellsOfTheStatesThatLayersKeep) {
  EngineConfig config = test::engine_config({.num_blocks = 32});
  std::get<MambaSpec>(config.kv_cache_config.groups[1].spec).states = {
      {.kind = StateKind::conv, .shape = {3, 8}}};
  ExplainedRun run(config);
  run.add("A", 6, 6);
  std::string text;
  for (std::int64_t step = 1; step <= 4; ++step) text += run.step(step);
  EXPECT_THAT(text, HasSubstr("group 1 (mamba2): conv positions 0.. of block 2 to block 4"));
  EXPECT_THAT(text, HasSubstr("needs conv tokens 6..8"));
  EXPECT_THAT(text, Not(HasSubstr("temporal")));
  EXPECT_THAT(text, Not(HasSubstr("S(")));
}

TEST(ExplainStep, MarksWhereTheWorkersTableHasAStaleHead) {
  ExplainedRun run(test::engine_config({.num_blocks = 32}));
  run.add("A", 14, 6);
  const std::string text = run.step(5);
  EXPECT_THAT(text, HasSubstr("A       group 0   both       1 3 [5]"));
  EXPECT_THAT(text, HasSubstr("group 1   scheduler  0 4 [6]"));
  EXPECT_THAT(text, HasSubstr("group 1   worker     2* 4 [6]"));
  EXPECT_THAT(text, HasSubstr("* differs from the scheduler"));
}

TEST(ExplainTopics, AreTheWantedSectionsUnderTheSameTitleInTheOrderOfThePage) {
  ExplainedRun run(test::engine_config({.num_speculative_tokens = 1, .num_blocks = 16}));
  run.add("A", 6, 4);
  const std::string whole = run.step(1);
  const BlockTableMirror tables(2, 16);
  const StepTopic topics[] = {StepTopic::commit, StepTopic::sample};
  const std::string text = explain_topics({.trace = run.trace(),
                                           .config = run.engine().config(),
                                           .names = run.names(),
                                           .scheduler_tables = tables,
                                           .findings = {}},
                                          topics);
  const std::size_t title_end = whole.find("\n\nCommands") + 1;
  const std::size_t sample = whole.find("\nSample");
  const std::size_t sample_end = whole.find("\n\nPost-copies") + 1;
  const std::size_t commit = whole.find("\nCommit");
  const std::size_t commit_end = whole.find("\n\nFindings") + 1;
  EXPECT_EQ(text, whole.substr(0, title_end) + whole.substr(sample, sample_end - sample) +
                      whole.substr(commit, commit_end - commit));
}

// Block size 8, two drafts; frame 2 rejects both, so frame 3 has c = 9 and an exact c of 7.
TEST(ExplainStep, AsynchronouslyTellsReportedAndExactCountsAndTheFramesTheyBelongTo) {
  EngineConfig config = test::engine_config({.num_speculative_tokens = 2, .num_blocks = 32});
  config.async_scheduling = true;
  ExplainedRun run(config);
  const RequestId a = run.add("A", 6, 12);
  run.step(1);
  ASSERT_TRUE(run.engine().apply(SetAcceptedTokens{a, 1}).ok());
  run.step(2);
  const std::string text = run.step(3);
  EXPECT_THAT(text, HasSubstr("frame 3 is scheduled, run and sampled while frame 2 is in flight"));
  EXPECT_THAT(text, HasSubstr("in flight  exact c"));
  EXPECT_THAT(text, HasSubstr("A       known 7 + in flight 3 + drafts 2 - c 9 = 3"));
  EXPECT_THAT(text, HasSubstr("Commit of frame 2"));
  EXPECT_EQ(run.trace().scheduled[0].num_computed_tokens, 9);
  EXPECT_EQ(run.trace().rows[0].num_computed_tokens, 7);
}

TEST(ExplainStep, SaysWhatLimitsTheTokensOfARequest) {
  ExplainedRun run(test::engine_config({.num_blocks = 32}));
  run.add("A", 30, 4);
  ASSERT_TRUE(run.engine().apply(SetStepBudget{20}).ok());
  const std::string text = run.step();
  EXPECT_THAT(text, HasSubstr("budget  20 tokens (set for this step), 16 used"));
  EXPECT_THAT(text, HasSubstr("A       known 30 - hit 0 = 30; at most 20 (left of the budget);"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "end = 0 + 20 = 20 < 24:\n          20 rounded down to a multiple of 8 = 16; q = 16"));
  EXPECT_THAT(text, HasSubstr("the chunk ends at 16 of 30 known tokens: what it samples is"));
}

// From 0.31.0 on the threshold cuts only while more than one request runs or waits.
TEST(ExplainStep, AThresholdIsALimitOnlyInStepsInWhichItCuts) {
  const auto words = [](LongPrefillThreshold policy, int num_requests) {
    EngineConfig config = test::engine_config({.num_blocks = 64, .max_num_batched_tokens = 40});
    config.long_prefill_token_threshold = 20;
    config.policies.set(policy);
    ExplainedRun run(config);
    for (const char* name : {"A", "B"})
      if (num_requests-- > 0) run.add(name, 60, 3);
    return run.step();
  };
  const auto alone = HasSubstr(
      "A       known 60 - hit 0 = 60; at most 40 (left of the budget); aligned split:\n"
      "          last_cache_position = floor(60 / 8) * 8 = 56; end = 0 + 40 = 40 < 56:\n"
      "          40 rounded down to a multiple of 8 = 40; q = 40");
  EXPECT_THAT(words(LongPrefillThreshold::with_other_requests, 1), alone);
  const auto cut =
      HasSubstr("A       known 60 - hit 0 = 60; at most 20 (long_prefill_token_threshold);");
  EXPECT_THAT(words(LongPrefillThreshold::with_other_requests, 2), cut);
  EXPECT_THAT(words(LongPrefillThreshold::always, 1), cut);
}

// As in another engine's trace and in recordings of earlier programs.
TEST(ExplainStep, ALimitThatTheTraceDoesNotTellIsNotGuessed) {
  ExplainedRun run(test::engine_config({.num_blocks = 64, .max_num_batched_tokens = 40}));
  run.add("A", 60, 3);
  run.step();
  StepTrace trace = run.trace();
  trace.token_terms.clear();
  const BlockTableMirror tables(2, 64);
  const StepTopic topics[] = {StepTopic::schedule};
  EXPECT_THAT(explain_topics({.trace = trace,
                              .config = run.engine().config(),
                              .names = run.names(),
                              .scheduler_tables = tables,
                              .findings = {}},
                             topics),
              HasSubstr("A       known 60 - hit 0 = 60; the trace does not say what limited it; "
                        "q = 40"));
}

// The slot of a drafter is taken off the budget before each row (0.32.0).
TEST(ExplainStep, ADraftersSlotsAreNotLeftOfTheBudget) {
  EngineConfig config = test::engine_config({.num_speculative_tokens = 1,
                                             .method = SpeculativeMethod::draft_model,
                                             .num_blocks = 64,
                                             .max_num_batched_tokens = 40});
  config.policies.set(DraftSlots::counted);
  ExplainedRun run(config);
  run.add("A", 60, 3);
  EXPECT_THAT(run.step(), HasSubstr("; at most 39 (left of the budget);"));
}

// Attention has 16 of the 20 tokens that B shares with A, but no state ends there: B's second chunk
// stops at 16 too, which only the lookup of the step before told.
TEST(ExplainStep, WhereASharedPrefixEndsIsATermOfLaterChunksToo) {
  EngineConfig config = test::engine_config({.num_blocks = 64, .max_num_batched_tokens = 64});
  config.policies.set(AlignedSplit::stops_on_grid);
  ExplainedRun run(config);
  run.add("A", 30, 1, 20);
  run.step(2);
  run.add("B", 60, 1, 20);
  ASSERT_TRUE(run.engine().apply(SetStepBudget{8}).ok());
  EXPECT_THAT(run.step(3), HasSubstr("; at most 8 (left of the budget);"));
  EXPECT_THAT(run.step(4), HasSubstr("cut to 16, where a shared prefix ends; q = 8"));
}

TEST(ExplainStep, SaysWhyARequestWaits) {
  ExplainedRun run(test::engine_config({.num_blocks = 32, .max_num_batched_tokens = 8}));
  run.add("A", 8, 4);
  run.add("B", 8, 4);
  run.step();
  EXPECT_THAT(run.step(), HasSubstr("B       no tokens: the aligned split left nothing:"));
}

TEST(ExplainStep, ListsIgnoredCommandsWithTheReason) {
  ExplainedRun run(test::engine_config({.num_blocks = 32}));
  const RequestId a = run.add("A", 8, 1);
  run.step();
  ASSERT_TRUE(run.engine().apply(PreemptRequest{a}).ok());
  EXPECT_THAT(run.step(), HasSubstr("preempt              A, ignored: the request is not running"));
}

TEST(ExplainStep, RegisteredBlocksNameThePrefixTheyStandFor) {
  ExplainedRun run(test::engine_config({.num_blocks = 32}));
  run.add("A", 30, 4);
  const std::string text = run.step();
  EXPECT_THAT(text, HasSubstr("registered  group 0 (attention): 1-3 (keys and values up to 8 .. 24 "
                              "tokens)"));
  EXPECT_THAT(text, HasSubstr("registered  group 1 (mamba2): 4 (state after 24 tokens)"));
}

TEST(ExplainStep, SaysFromWhenOnRegisteredBlocksCanBeHit) {
  const auto words = [](BlockRegistration registration) {
    EngineConfig config = test::engine_config({.num_blocks = 32});
    config.policies.set(registration);
    ExplainedRun run(config);
    run.add("A", 30, 4);
    return run.step();
  };
  EXPECT_THAT(words(BlockRegistration::planned_then_published),
              HasSubstr("Registered blocks can be hit from the next step on, when they are"));
  EXPECT_THAT(
      words(BlockRegistration::at_allocation),
      HasSubstr("Registered blocks can be hit at once, but a request whose hit ends with a"));
  EXPECT_THAT(words(BlockRegistration::at_allocation_hit_at_once),
              HasSubstr("Registered blocks can be hit at once, before they are written"));
}

TEST(ExplainStep, AnEmptyStepHasNoRows) {
  ExplainedRun run(test::engine_config({.num_blocks = 32}));
  const std::string text = run.step();
  EXPECT_THAT(text, HasSubstr("Step 1 at 0 us, 20 ms long: 0 tokens of 0 requests"));
  EXPECT_THAT(text, HasSubstr("No request got a token: an empty step"));
  EXPECT_THAT(text, Not(HasSubstr("\nRows")));
  EXPECT_THAT(text, Not(HasSubstr("\nForward")));
}

TEST(ExplainStep, GroupsOfOneKindAreToldOnce) {
  ExplainedRun run(test::engine_config({.num_blocks = 32, .num_mamba_groups = 2}));
  run.add("A", 8, 2);
  const std::string text = run.step();
  EXPECT_THAT(text, HasSubstr("group 2 (mamba2) by Mamba2AttentionMetadataBuilder, reused through "
                              "update_block_table:\n    as group 1 (mamba2) but\n"
                              "    state_indices_tensor_p            int32 [1]        3\n"));
  EXPECT_THAT(text, HasSubstr("A       group 2 (mamba2): the same with column 0 (block 3)"));
}

TEST(ExplainStep, ModeAllTellsItsOwnBoundaryCopies) {
  ExplainedRun run(test::engine_config({.mode = MambaCacheMode::all, .num_speculative_tokens = 2}));
  const RequestId a = run.add("A", 5, 9);
  run.step();
  ASSERT_TRUE(run.engine().apply(SetAcceptedTokens{a, 3}).ok());
  const std::string text = run.step();
  EXPECT_THAT(text, HasSubstr("\nPost-copies (docs/differences.md all_mode_speculation)\n"));
  EXPECT_THAT(text, HasSubstr("boundary 8 lies in c + 1 .. c + a = 6 .. 8"));
}

TEST(ExplainStep, UnderReferenceAStepWithoutDraftsForgetsTheCounts) {
  ExplainedRun run(test::engine_config({.mamba_type = MambaType::gdn_attention,
                                        .block_size = 16,
                                        .num_speculative_tokens = 2,
                                        .policies = reference_policies()}));
  const RequestId a = run.add("A", 4, 12);
  run.step();
  ASSERT_TRUE(run.engine().apply(SetAcceptedTokens{a, 3}).ok());
  run.step();
  ASSERT_TRUE(run.engine().apply(SetDraftTokens{a, 0}).ok());
  const std::string text = run.step();
  EXPECT_THAT(text, HasSubstr("the row's own count is 3, but no counts are passed"));
  EXPECT_THAT(text, HasSubstr("holds the state of 5 tokens of A, expected 7"));
}

TEST(ExplainStep, PlaceholdersAreToldApartFromDrafts) {
  ExplainedRun run(test::engine_config({.mamba_type = MambaType::gdn_attention,
                                        .num_speculative_tokens = 3,
                                        .method = SpeculativeMethod::ngram,
                                        .policies = reference_policies()}));
  run.add("A", 8, 12, 8);
  run.step(3);
  run.add("B", 9, 8, 8);
  const std::string text = run.step();
  EXPECT_THAT(text, HasSubstr("B       known 9 - hit 8 = 1, padded to 1 + K = 4 by placeholders;"));
  EXPECT_THAT(text, HasSubstr("a = 1: the token that the step samples; its 3 placeholders never"));
}

TEST(ExplainStep, APreemptedRequestIsNamed) {
  ExplainedRun run(test::engine_config({.num_blocks = 32}));
  const RequestId a = run.add("A", 9, 6);
  run.step(2);
  ASSERT_TRUE(run.engine().apply(PreemptRequest{a}).ok());
  const std::string text = run.step();
  EXPECT_THAT(text,
              HasSubstr("A       preempted: its blocks are freed, c := 0, it goes back to the "
                        "front of the queue"));
}

TEST(ExplainStep, PaddingRowsAreCounted) {
  ExplainedRun run(test::engine_config({.num_blocks = 32}));
  for (const char* name : {"A", "B", "C"}) run.add(name, 4, 4);
  const std::string text = run.step(2);
  EXPECT_THAT(text, HasSubstr("Rows 3..3 are padding: no tokens, seq_len 0, null blocks"));
}

}  // namespace
}  // namespace hybridscope::explain_step_test
