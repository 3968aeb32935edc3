// Faults of real engines (docs/known-bugs.md) as policies: each is found with the numbers of its
// entry, and the same scenario under the safe policies has no findings.
#include <gtest/gtest.h>

#include "core/caching/block_pool_policies.h"
#include "core/caching/hybrid_coordinator_policies.h"
#include "core/engine/aligned_split_policies.h"
#include "core/engine/batch_metadata_policies.h"
#include "core/engine/row_inputs_policies.h"
#include "core/engine/scheduler_policies.h"
#include "core/engine/worker_policies.h"
#include "tests/core/check/planted.h"

namespace hybridscope::test::faulty_policies_test {
namespace {

TEST(FaultyPolicies, ChunkThatEndsInsideABlockPoisonsItsLabel) {  // 1, scenario A
  const auto scenario = [](AlignedSplit aligned_split) {
    PlantedRun run({.num_speculative_tokens = 1, .policies = {aligned_split}});
    run.add(request_of(10, 4, 1)).apply(SetStepBudget{3}).steps(1).apply(SetStepBudget{7}).steps(1);
    return run;
  };
  EXPECT_TRUE(found_only(scenario(AlignedSplit::until_last_cache_position).findings(),
                         {{.rule = Rule::label_mismatch,
                           .step = 2,
                           .request = 0,
                           .group = 1,
                           .content = ContentKind::temporal,
                           .block = 2,
                           .expected = 8,
                           .seen = 3,
                           .cause = ExpectedCause{WriteKind::prefill, 1, 0, 3}},
                          {.rule = Rule::label_mismatch,
                           .step = 2,
                           .group = 1,
                           .content = ContentKind::conv,
                           .block = 2,
                           .expected = 8,
                           .seen = 3,
                           .cause = ExpectedCause{WriteKind::prefill, 1, 0, 3}}}));
  PlantedRun healthy = scenario(AlignedSplit::every_chunk_on_grid);
  healthy.finish();
  EXPECT_TRUE(nothing_found(healthy.findings()));
}

TEST(FaultyPolicies, ChunkThatEndsInsideTheSecondBlockPoisonsItsLabel) {  // 1, scenario B
  const auto scenario = [](AlignedSplit aligned_split) {
    PlantedRun run({.num_speculative_tokens = 1, .policies = {aligned_split}});
    run.add(request_of(18, 4, 1));
    for (const std::int32_t budget : {8, 5, 5}) run.apply(SetStepBudget{budget}).steps(1);
    return run;
  };
  EXPECT_TRUE(found(scenario(AlignedSplit::until_last_cache_position).findings(),
                    {.rule = Rule::label_mismatch,
                     .step = 3,
                     .group = 1,
                     .content = ContentKind::temporal,
                     .expected = 16,
                     .seen = 13,
                     .cause = ExpectedCause{WriteKind::prefill, 2, 0, 13}}));
  PlantedRun healthy = scenario(AlignedSplit::every_chunk_on_grid);
  healthy.finish();
  EXPECT_TRUE(nothing_found(healthy.findings()));
}

TEST(FaultyPolicies, EagleMarginInflatesTheHybridHit) {  // 2
  const auto scenario = [](MambaEagleLookahead lookahead) {
    PlantedRun run({.block_size = 4, .num_speculative_tokens = 1, .policies = {lookahead}});
    run.add(request_of(6, 9, 1)).steps(1);
    for (int i = 0; i < 4; ++i) run.apply(SetAcceptedTokens{kA, 2}).steps(1);  // c = 14
    run.finish();
    AddRequest consumer = request_of(0, 3, 2);
    consumer.prompt = {
        {.content = 1, .first = 0, .length = 6},
        {.source = PromptSegment::Source::output, .content = 1, .first = 6, .length = 8},
        {.content = 2, .first = 0, .length = 1}};
    run.add(consumer).steps(1);
    return run;
  };
  const PlantedRun faulty = scenario(MambaEagleLookahead::longer_limit);
  EXPECT_TRUE(found(faulty.findings(), {.rule = Rule::hit_longer_than_group,
                                        .step = 6,
                                        .request = 1,
                                        .group = 0,
                                        .column = 2,
                                        .expected = 12,
                                        .seen = 8,
                                        .detail = "the hit covers a block that nobody filled"}));
  EXPECT_TRUE(found(faulty.findings(),
                    {.rule = Rule::attention_slot_unwritten,
                     .step = 6,
                     .request = 1,
                     .row = 0,
                     .expected = 12,
                     .seen = 8,
                     .detail = "slots before the row's first token were never written"}));
  PlantedRun healthy = scenario(MambaEagleLookahead::none);
  healthy.finish();
  EXPECT_TRUE(nothing_found(healthy.findings()));
}

TEST(FaultyPolicies, ReplayOfAVerifyGraphForAPrompt) {  // 5: K + 1 prompt tokens
  const auto scenario = [](UniformDecodeTest test) {
    PlantedRun run({.num_speculative_tokens = 2, .policies = {test}});
    run.add(request_of(3, 4, 1)).steps(1);
    return run;
  };
  EXPECT_TRUE(found_only(scenario(UniformDecodeTest::by_shape).findings(),
                         {{.rule = Rule::stale_persistent_array, .step = 1, .group = 1}}));
  EXPECT_TRUE(nothing_found(scenario(UniformDecodeTest::by_row_class).findings()));
}

TEST(FaultyPolicies, OneTokenPromptRunsAsADecode) {  // 6
  const auto scenario = [](RowClassing classing) {
    PlantedRun run({.mamba_type = MambaType::gdn_attention, .policies = {classing}});
    run.add(request_of(1, 4, 1)).steps(1);
    return run;
  };
  EXPECT_TRUE(found_only(
      scenario(RowClassing::by_shape).findings(),
      {{.rule = Rule::read_of_unwritten_block,
        .step = 1,
        .request = 0,
        .group = 1,
        .content = ContentKind::temporal,
        .column = 0,
        .expected = 0,
        .cause = ExpectedCause{}},
       {.rule = Rule::read_of_unwritten_block, .step = 1, .content = ContentKind::conv}}));
  EXPECT_TRUE(nothing_found(scenario(RowClassing::by_meaning).findings()));
}

TEST(FaultyPolicies, StepWithoutDraftsReadsColumnZero) {  // 7: B = 8, K = 2, c = 7, a = 3, budget 1
  for (const MambaType type : {MambaType::mamba2, MambaType::gdn_attention}) {
    const auto scenario = [type](NoDraftStep no_draft_step) {
      PlantedRun run(
          {.mamba_type = type, .num_speculative_tokens = 2, .policies = {no_draft_step}});
      run.add(request_of(4, 20, 1)).steps(1).apply(SetAcceptedTokens{kA, 3}).steps(1);
      run.apply(SetStepBudget{1}).steps(1);
      return run;
    };
    const PlantedRun faulty = scenario(NoDraftStep::column_zero);
    EXPECT_TRUE(found(faulty.findings(), {.rule = Rule::running_state_wrong,
                                          .step = 3,
                                          .request = 0,
                                          .group = 1,
                                          .content = ContentKind::temporal,
                                          .column = 0,
                                          .expected = 7,
                                          .seen = 5,
                                          .cause = ExpectedCause{WriteKind::decode, 2, 0, 5}}));
    EXPECT_TRUE(found(faulty.findings(), {.rule = Rule::running_state_wrong,
                                          .step = 3,
                                          .content = ContentKind::conv,
                                          .expected = 7,
                                          .seen = 5,
                                          .detail = "conv history"}));
    PlantedRun healthy = scenario(NoDraftStep::verify_with_counts);
    healthy.finish();
    EXPECT_TRUE(nothing_found(healthy.findings()));
  }
}

TEST(FaultyPolicies, PlaceholdersOfAPaddedPromptAreFolded) {  // 8: B = 8, K = 3, 9 tokens, hit 8
  const auto scenario = [](OneTokenPrompt one_token_prompt) {
    PlantedRun run({.num_speculative_tokens = 3,
                    .method = SpeculativeMethod::ngram,
                    .policies = {one_token_prompt}});
    run.add(request_of(10, 30, 1, 8)).steps(3).add(request_of(9, 9, 2, 8)).steps(1);
    EXPECT_TRUE(nothing_found(run.findings()));
    run.steps(1);
    return run;
  };
  const PlantedRun faulty = scenario(OneTokenPrompt::padded_with_placeholders);
  EXPECT_TRUE(found(faulty.findings(), {.rule = Rule::running_state_wrong,
                                        .step = 5,
                                        .request = 1,
                                        .group = 1,
                                        .content = ContentKind::temporal,
                                        .column = 1,
                                        .expected = 9,
                                        .seen = 12,
                                        .cause = ExpectedCause{WriteKind::prefill, 4, 1, 12}}));
  PlantedRun healthy = scenario(OneTokenPrompt::as_is);
  healthy.finish();
  EXPECT_TRUE(nothing_found(healthy.findings()));
}

PlantedRun all_mode(AllModeSpeculation speculation, std::int32_t num_speculative_tokens,
                    std::int32_t prompt, std::initializer_list<std::int32_t> accepted) {
  PlantedRun run({.mode = MambaCacheMode::all,
                  .num_speculative_tokens = num_speculative_tokens,
                  .policies = {speculation}});
  run.add(request_of(prompt, 20, 1)).steps(1);
  for (const std::int32_t count : accepted) run.apply(SetAcceptedTokens{kA, count}).steps(1);
  return run;
}

TEST(FaultyPolicies, AllModeNeverStoresTheBoundaryState) {  // 18: K = 3, prompt 5, a = 2, 2
  const auto scenario = [](AllModeSpeculation speculation) {
    return all_mode(speculation, 3, 5, {2, 2});
  };
  const PlantedRun faulty = scenario(AllModeSpeculation::full_steps_remembered_no_copies);
  for (const ContentKind content : {ContentKind::temporal, ContentKind::conv})
    EXPECT_TRUE(found(faulty.findings(), {.rule = Rule::label_mismatch,
                                          .step = 3,
                                          .request = 0,
                                          .group = 1,
                                          .content = content,
                                          .block = 2,
                                          .expected = 8,
                                          .seen = 5,
                                          .cause = ExpectedCause{WriteKind::prefill, 1, 0, 5}}));
  PlantedRun healthy = scenario(AllModeSpeculation::remembered_column_and_boundary_copies);
  healthy.finish();
  EXPECT_TRUE(nothing_found(healthy.findings()));
}

TEST(FaultyPolicies, AllModeStoresAnEarlierState) {  // 18: K = 1, prompt 5, a = 2, 1, 2
  const auto scenario = [](AllModeSpeculation speculation) {
    return all_mode(speculation, 1, 5, {2, 1, 2});
  };
  EXPECT_TRUE(found(scenario(AllModeSpeculation::full_steps_remembered_no_copies).findings(),
                    {.rule = Rule::label_mismatch,
                     .step = 4,
                     .content = ContentKind::temporal,
                     .block = 2,
                     .expected = 8,
                     .seen = 6,
                     .cause = ExpectedCause{WriteKind::decode, 2, 0, 6}}));
  EXPECT_TRUE(nothing_found(
      scenario(AllModeSpeculation::remembered_column_and_boundary_copies).findings()));
}

TEST(FaultyPolicies, AllModeConvIsReadFromAnotherColumnThanTheState) {  // 19: K = 1, c = 7, a = 1
  const auto scenario = [](AllModeSpeculation speculation) {
    return all_mode(speculation, 1, 5, {2, 1, 1});
  };
  const PlantedRun faulty = scenario(AllModeSpeculation::full_steps_remembered_no_copies);
  // Column 0 has the window of step 2: tokens 3, 4, 5 behind one that was shifted out.
  EXPECT_TRUE(found(faulty.findings(), {.rule = Rule::running_state_wrong,
                                        .step = 4,
                                        .request = 0,
                                        .group = 1,
                                        .content = ContentKind::conv,
                                        .column = 0,
                                        .expected = 8,
                                        .seen = 6,
                                        .detail = "conv history",
                                        .cause = ExpectedCause{WriteKind::decode, 2, 0, 7}}));
  EXPECT_FALSE(found(faulty.findings(),
                     {.rule = Rule::running_state_wrong, .content = ContentKind::temporal}));
  EXPECT_TRUE(nothing_found(
      scenario(AllModeSpeculation::remembered_column_and_boundary_copies).findings()));
}

TEST(FaultyPolicies, ReturningRequestReadsColumnZero) {  // 48: B = 8, K = 1, c = 4, a = 2
  const auto scenario = [](AcceptedCountOwner owner) {
    PlantedRun run({.num_speculative_tokens = 1, .policies = {owner}});
    run.add(request_of(2, 20, 1)).add(request_of(2, 20, 2)).steps(1);
    run.apply(SetAcceptedTokens{kB, 2}).steps(1);
    run.apply(SetStepBudget{2}).steps(1);  // A takes it all
    EXPECT_TRUE(nothing_found(run.findings()));
    run.steps(1);
    return run;
  };
  const PlantedRun faulty = scenario(AcceptedCountOwner::persistent_row);
  EXPECT_TRUE(found_only(faulty.findings(), {{.rule = Rule::running_state_wrong,
                                              .step = 4,
                                              .request = 1,
                                              .group = 1,
                                              .content = ContentKind::temporal,
                                              .column = 0,
                                              .expected = 4,
                                              .seen = 3,
                                              .cause = ExpectedCause{WriteKind::decode, 2, 1, 3}},
                                             {.rule = Rule::running_state_wrong,
                                              .step = 4,
                                              .request = 1,
                                              .content = ContentKind::conv,
                                              .expected = 4,
                                              .seen = 3,
                                              .detail = "conv history"}}));
  PlantedRun healthy = scenario(AcceptedCountOwner::request);
  healthy.finish();
  EXPECT_TRUE(nothing_found(healthy.findings()));
}

TEST(FaultyPolicies, PriorityVictimKeepsItsRegisteredBlock) {  // 49
  // Five usable blocks. A (low priority, 6 tokens) is scheduled first and completes block 0 in step
  // 3; B (high priority) then needs two blocks, one is free, and A loses its two.
  const auto scenario = [](BlockRegistration registration) {
    EngineConfig config = engine_config({.num_blocks = 6, .policies = {registration}});
    config.scheduling_policy = SchedulingPolicy::priority;
    PlantedRun run(CheckScope::all, config);
    AddRequest low = request_of(6, 3, 1);
    low.priority = 1;
    run.add(low).steps(1).add(request_of(8, 2, 2)).steps(1);
    run.step([](StepTrace& trace, OwnedArrays&) {
      ASSERT_EQ(trace.preempted.size(), 1u);
      EXPECT_EQ(trace.preempted[0], kA);
    });
    return run;
  };
  const PlantedRun faulty = scenario(BlockRegistration::at_allocation);
  EXPECT_TRUE(found(faulty.findings(), {.rule = Rule::label_mismatch,
                                        .step = 3,
                                        .request = 0,
                                        .group = 1,
                                        .content = ContentKind::temporal,
                                        .expected = 8,
                                        .seen = 7,
                                        .cause = ExpectedCause{WriteKind::decode, 2, 0, 7}}));
  PlantedRun healthy = scenario(BlockRegistration::planned_then_published);
  healthy.finish();
  EXPECT_TRUE(nothing_found(healthy.findings()));
}

TEST(FaultyPolicies, ResumedTailRunsAsADecode) {  // 50: B = 8, K = 1, prompt 8, 10 tokens, hit 8
  const auto scenario = [](RowClassing classing) {
    PlantedRun run(
        {.num_speculative_tokens = 1, .method = SpeculativeMethod::ngram, .policies = {classing}});
    run.add(request_of(8, 20, 1)).steps(1).apply(SetDraftTokens{kA, 0}).steps(1);
    run.apply(PreemptRequest{kA}).step([](StepTrace& trace, OwnedArrays&) {
      EXPECT_EQ(trace.scheduled.at(0).num_hit_tokens, 8);
      EXPECT_EQ(trace.scheduled.at(0).num_scheduled_tokens, 2);
    });
    run.steps(1);
    return run;
  };
  const PlantedRun faulty = scenario(RowClassing::by_shape);
  EXPECT_TRUE(found(faulty.findings(), {.rule = Rule::running_state_wrong,
                                        .step = 4,
                                        .request = 0,
                                        .group = 1,
                                        .content = ContentKind::temporal,
                                        .column = 1,
                                        .expected = 10,
                                        .seen = 9,
                                        .cause = ExpectedCause{WriteKind::decode, 3, 0, 9}}));
  PlantedRun healthy = scenario(RowClassing::by_meaning);
  healthy.finish();
  EXPECT_TRUE(nothing_found(healthy.findings()));
}

}  // namespace
}  // namespace hybridscope::test::faulty_policies_test
