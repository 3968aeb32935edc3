// Rules about counts and movement: rejected-draft-counted, no-progress, and the warnings.
#include <gtest/gtest.h>

#include "core/caching/block_pool_policies.h"
#include "core/engine/aligned_split_policies.h"
#include "tests/core/check/planted.h"

namespace hybridscope::test::planted_progress_test {
namespace {

// K = 2, 6 prompt tokens; in step 2 one of three tokens is accepted: c goes from 6 to 7.
PlantedRun rejected_drafts() {
  PlantedRun run({.num_speculative_tokens = 2});
  run.add(request_of(6, 12, 1)).steps(1).apply(SetAcceptedTokens{kA, 1});
  return run;
}

TEST(PlantedProgress, RejectedDraftsThatWereCommitted) {
  PlantedRun run = rejected_drafts();
  run.step([](StepTrace& trace, OwnedArrays&) {
    EXPECT_EQ(trace.committed[0].num_computed_tokens, 7);
    trace.committed[0].num_computed_tokens = 9;
  });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::rejected_draft_counted,
                                           .step = 2,
                                           .request = 0,
                                           .expected = 7,
                                           .seen = 9,
                                           .detail = "computed tokens after the step"}}));
  run.steps(1);
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::rejected_draft_counted,
                                     .step = 3,
                                     .request = 0,
                                     .expected = 9,
                                     .seen = 7,
                                     .detail = "computed tokens before the step"}));
}

TEST(PlantedProgress, MoreAcceptedThanDrafted) {
  PlantedRun run = rejected_drafts();
  run.step([](StepTrace& trace, OwnedArrays&) {
    trace.rows[0].num_sampled_tokens = 4;
    trace.committed[0].num_computed_tokens = 10;
  });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::rejected_draft_counted,
                                           .step = 2,
                                           .request = 0,
                                           .expected = 3,
                                           .seen = 4,
                                           .detail = "more tokens accepted than drafted"},
                                          {.rule = Rule::rejected_draft_counted,
                                           .expected = 4,
                                           .seen = 1,
                                           .detail = "appended tokens"}}));
}

TEST(PlantedProgress, HitThatWasNotGranted) {
  PlantedRun run(SmallEngine{});
  run.add(request_of(17, 3, 1, 16)).add(request_of(20, 6, 2, 16)).steps(1);
  run.step([](StepTrace& trace, OwnedArrays&) {
    ASSERT_EQ(trace.scheduled[1].num_hit_tokens, 16);
    trace.scheduled[1].num_hit_tokens = 8;
    trace.hit_hashes.pop_back();
  });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::rejected_draft_counted,
                                     .step = 2,
                                     .request = 1,
                                     .expected = 8,
                                     .seen = 16,
                                     .detail = "computed tokens before the step"}));
}

TEST(PlantedProgress, CommitOfAnotherRequest) {
  PlantedRun run(SmallEngine{});
  run.add(request_of(6, 4, 1)).add(request_of(6, 4, 2)).steps(1);
  run.step(
      [](StepTrace& trace, OwnedArrays&) { std::swap(trace.committed[0], trace.committed[1]); });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::foreign_row_datum,
                                     .step = 2,
                                     .request = 0,
                                     .expected = 0,
                                     .seen = 1,
                                     .detail = "commit of another request"}));
}

TEST(PlantedProgress, RequestThatIsNotCommitted) {
  PlantedRun run(SmallEngine{});
  run.add(request_of(6, 4, 1));
  run.step([](StepTrace& trace, OwnedArrays&) { trace.committed.clear(); });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::metadata_inconsistent,
                                           .step = 1,
                                           .expected = 1,
                                           .seen = 0,
                                           .detail = "committed requests"}}));
}

TEST(PlantedProgress, OutputTokensThatAreNotCounted) {
  PlantedRun run(SmallEngine{});
  run.add(request_of(6, 4, 1));
  run.step([](StepTrace& trace, OwnedArrays&) { trace.committed[0].num_tokens = 8; });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::metadata_inconsistent,
                                           .step = 1,
                                           .request = 0,
                                           .expected = 7,
                                           .seen = 8,
                                           .detail = "known tokens after the step"}}));
}

TEST(PlantedProgress, UnfinishedChunkSamplesNothing) {
  PlantedRun run({.max_num_batched_tokens = 8});
  run.add(request_of(20, 4, 1)).step([](StepTrace& trace, OwnedArrays&) {
    trace.rows[0].num_sampled_tokens = 1;
  });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::metadata_inconsistent,
                                     .step = 1,
                                     .request = 0,
                                     .expected = 0,
                                     .seen = 1,
                                     .detail = "sampled tokens"}));
}

TEST(PlantedProgress, DraftsAreWhatIsNotKnownYet) {
  PlantedRun run = rejected_drafts();
  run.step([](StepTrace& trace, OwnedArrays&) { trace.scheduled[0].num_draft_tokens = 1; });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::metadata_inconsistent,
                                     .step = 2,
                                     .request = 0,
                                     .expected = 2,
                                     .seen = 1,
                                     .detail = "draft tokens behind the known ones"}));
}

TEST(PlantedProgress, RequestThatGoesOnKeepsItsBlocks) {
  PlantedRun run(SmallEngine{});
  run.add(request_of(6, 4, 1)).step([](StepTrace& trace, OwnedArrays&) {
    trace.committed[0].finished = true;
  });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::reference_count,
                                     .step = 1,
                                     .request = 0,
                                     .expected = 0,
                                     .seen = 1,
                                     .detail = "blocks held by a finished request"}));
  PlantedRun last(SmallEngine{});
  last.add(request_of(6, 1, 1)).step([](StepTrace& trace, OwnedArrays&) {
    trace.committed[0].finished = false;
  });
  EXPECT_TRUE(found(last.findings(), {.rule = Rule::reference_count,
                                      .step = 1,
                                      .request = 0,
                                      .expected = 1,
                                      .seen = 0,
                                      .detail = "a request that goes on holds no block"}));
}

TEST(PlantedProgress, BudgetThatNeverReachesTheNextBoundary) {
  PlantedRun run({.max_num_batched_tokens = 4});  // blocks of 8 tokens
  run.add(request_of(20, 4, 1)).steps(3);
  EXPECT_TRUE(
      found_only(run.findings(), {{.rule = Rule::no_progress,
                                   .step = 1,
                                   .expected = 1,
                                   .seen = 0,
                                   .detail = "unfinished requests, and nothing was scheduled"},
                                  {.rule = Rule::no_progress, .step = 2},
                                  {.rule = Rule::no_progress, .step = 3}}));
}

TEST(PlantedProgress, IdleStepWithSomethingToComeIsNoFault) {
  PlantedRun run(SmallEngine{});
  run.add(request_of(20, 4, 1)).apply(SetStepBudget{4}).steps(1);
  EXPECT_TRUE(nothing_found(run.findings()));
  run.finish();
  EXPECT_TRUE(nothing_found(run.findings()));
}

TEST(PlantedProgress, RunThatGoesInCircles) {
  // 64 of 80 prompt tokens, then a preemption; without prefix caching all is computed again. The
  // preemptions are not told as commands, as if the engine had decided them.
  PlantedRun run({.mode = MambaCacheMode::none});
  run.add(request_of(80, 9, 1)).steps(1);
  for (int i = 0; i < 10; ++i) {
    run.apply(PreemptRequest{kA});
    if (run.findings().empty())
      run.step([](StepTrace& trace, OwnedArrays&) { trace.commands.clear(); });
  }
  // More than 4 * (80 + 64) = 576 tokens since c first was 64.
  EXPECT_TRUE(
      found_only(run.findings(), {{.rule = Rule::no_progress,
                                   .step = 10,
                                   .expected = 0,
                                   .seen = 640,
                                   .detail = "tokens computed since any request got further"}}));
}

TEST(PlantedProgress, ChunkThatEndsInsideABlockIsAWarning) {
  SmallEngine small{.num_speculative_tokens = 1};
  small.policies.set(AlignedSplit::until_last_cache_position);
  PlantedRun run(small);
  run.add(request_of(10, 4, 1)).apply(SetStepBudget{3}).steps(1);
  EXPECT_TRUE(nothing_found(run.findings()));
  EXPECT_TRUE(found_only(run.warnings(), {{.rule = Rule::chunk_off_grid,
                                           .step = 1,
                                           .request = 0,
                                           .expected = 0,
                                           .seen = 3,
                                           .detail = "end of the chunk"}}));
}

// Blocks of 8 tokens and hash blocks of 4: a prompt of 21 stops after 20, where a resend can hit.
TEST(PlantedProgress, AChunkMayEndAtAHashBlockWhereHitsEndInsideBlocks) {
  EngineConfig config = engine_config({});
  config.hash_block_size = 4;
  PlantedRun run(CheckScope::step, config);
  run.add(request_of(21, 4, 1)).steps(3);
  EXPECT_TRUE(nothing_found(run.findings()));
  EXPECT_TRUE(nothing_found(run.warnings()));
}

// B's hit ends inside a block that A filled long ago and still writes to. Whether blocks are
// registered when they are scheduled or later, B does not wait for A to end.
TEST(PlantedProgress, AHitInsideABlockOfARunningRequestIsTakenAtOnce) {
  for (const BlockRegistration registration :
       {BlockRegistration::at_allocation, BlockRegistration::planned_then_published}) {
    EngineConfig config = engine_config({.mamba_type = MambaType::gdn_attention});
    config.hash_block_size = 4;
    config.policies.set(registration);
    PlantedRun run(CheckScope::step, config);
    run.add(request_of(22, 25, 1, 22)).steps(7);
    run.add(request_of(30, 4, 2, 22)).step([](StepTrace& trace, OwnedArrays&) {
      ASSERT_EQ(trace.scheduled.size(), 2U);
      EXPECT_EQ(trace.scheduled[1].num_hit_tokens, 20);
    });
    EXPECT_TRUE(nothing_found(run.findings()));
  }
}

TEST(PlantedProgress, DraftsCutByTheBudgetAreAWarning) {
  PlantedRun run({.num_speculative_tokens = 2});
  run.add(request_of(6, 12, 1)).steps(1).apply(SetStepBudget{2}).steps(1);
  EXPECT_TRUE(nothing_found(run.findings()));
  EXPECT_TRUE(
      found_only(run.warnings(),
                 {{.rule = Rule::drafts_cut, .step = 2, .request = 0, .expected = 2, .seen = 1}}));
}

TEST(PlantedProgress, ScriptedCountsThatCannotBeUsedAreWarnings) {
  PlantedRun run({.num_speculative_tokens = 2, .max_num_batched_tokens = 8});
  run.add(request_of(14, 9, 1)).apply(SetAcceptedTokens{kA, 2}).steps(1);
  EXPECT_TRUE(found_only(run.warnings(), {{.rule = Rule::expectation_unused,
                                           .step = 1,
                                           .request = 0,
                                           .expected = 2,
                                           .detail = "the request samples nothing in this step"}}));
  run.apply(SetAcceptedTokens{kA, 3}).steps(1);  // the last chunk has no drafts
  EXPECT_TRUE(found(run.warnings(), {.rule = Rule::expectation_unused,
                                     .step = 2,
                                     .request = 0,
                                     .expected = 3,
                                     .detail = "the count is outside 1..1+drafts of this step"}));
  EXPECT_TRUE(nothing_found(run.findings()));
}

}  // namespace
}  // namespace hybridscope::test::planted_progress_test
