// As faulty_policies_test: faults of runner V2.
#include <gtest/gtest.h>

#include "core/engine/policy_overrides.h"
#include "core/engine/policy_table.h"
#include "core/engine/worker_v2_policies.h"
#include "tests/core/check/planted.h"

namespace hybridscope::test::faulty_policies_v2_test {
namespace {

PolicySet policies_with(const PolicyValue& value) {
  PolicyOverrides set;
  set.set(value);
  return with_overrides(safe_policies(), set);
}

EngineConfig runner_v2(const SmallEngine& small) {
  EngineConfig config = engine_config(small);
  config.runner = ModelRunner::v2;
  return config;
}

TEST(FaultyPoliciesV2,
     SeedColumnInWrongUnits) {  // 11: V2, B = 16, cache_config.block_size 4, hit 16
  const auto scenario = [](InitialStateColumn unit) {
    EngineConfig config = runner_v2({.block_size = 16,
                                     .num_speculative_tokens = 1,
                                     .method = SpeculativeMethod::ngram,
                                     .max_model_len = 96,
                                     .policies = policies_with(unit)});
    config.block_size = 4;
    PlantedRun run(CheckScope::all, config);
    run.add(request_of(18, 2, 1, 18)).apply(SetStepBudget{16}).steps(4);
    run.add(request_of(20, 4, 2, 18)).steps(1);
    return run;
  };
  const PlantedRun faulty = scenario(InitialStateColumn::cache_config_block_size);
  for (const ContentKind content : {ContentKind::temporal, ContentKind::conv})
    EXPECT_TRUE(found(faulty.findings(), {.rule = Rule::read_of_unwritten_block,
                                          .step = 5,
                                          .request = 1,
                                          .group = 1,
                                          .content = content,
                                          .column = 3,
                                          .detail = "copied from a block that holds no state"}));
  EXPECT_TRUE(found(faulty.findings(), {.rule = Rule::running_state_wrong,
                                        .step = 5,
                                        .request = 1,
                                        .group = 1,
                                        .content = ContentKind::temporal,
                                        .column = 1,
                                        .expected = 16}));
  PlantedRun healthy = scenario(InitialStateColumn::mamba_block_size);
  healthy.finish();
  EXPECT_TRUE(nothing_found(healthy.findings()));
}

TEST(FaultyPoliciesV2,
     ShortTailSortedBeforeVerifyRows) {  // 12: V2, none, K = 3, a = 3, chunks 18 + 2
  const auto scenario = [](RowOrder order) {
    PlantedRun run(CheckScope::all, runner_v2({.mode = MambaCacheMode::none,
                                               .num_speculative_tokens = 3,
                                               .policies = policies_with(order)}));
    run.add(request_of(5, 30, 1)).steps(1);
    run.add(request_of(20, 4, 2)).apply(SetAcceptedTokens{kA, 3}).apply(SetStepBudget{22}).steps(1);
    run.apply(SetAcceptedTokens{kA, 2}).steps(2);
    return run;
  };
  const PlantedRun faulty = scenario(RowOrder::query_len);
  for (const ContentKind content : {ContentKind::temporal, ContentKind::conv})
    EXPECT_TRUE(found(faulty.findings(), {.rule = Rule::running_state_wrong,
                                          .step = 3,
                                          .request = 0,
                                          .row = 1,
                                          .group = 1,
                                          .content = content,
                                          .column = 0,
                                          .expected = 8,
                                          .seen = 6}));
  EXPECT_TRUE(found(faulty.findings(), {.rule = Rule::running_state_wrong,
                                        .step = 4,
                                        .request = 0,
                                        .content = ContentKind::temporal,
                                        .column = 1,
                                        .expected = 10,
                                        .seen = 7}));
  PlantedRun healthy = scenario(RowOrder::decodes_then_query_len);
  healthy.finish();
  EXPECT_TRUE(nothing_found(healthy.findings()));
}

// 13: V2, all, B = 8, K = 3. Z ends with a = 4; A comes back with a hit of 8 of its 9 tokens and
// takes over Z's slot.
TEST(FaultyPoliciesV2, StaleAcceptedCountOnSlotReuse) {
  const auto scenario = [](SlotCountReset reset) {
    PlantedRun run(CheckScope::all, runner_v2({.mode = MambaCacheMode::all,
                                               .num_speculative_tokens = 3,
                                               .method = SpeculativeMethod::ngram,
                                               .policies = policies_with(reset)}));
    run.add(request_of(8, 9, 1)).add(request_of(5, 30, 2)).steps(1);
    run.apply(PreemptRequest{kA}).apply(SetDraftTokens{kB, 3}).apply(SetAcceptedTokens{kB, 4});
    run.apply(SetStepBudget{4}).steps(1);
    run.apply(AbortRequest{kB}).step([](StepTrace& trace, OwnedArrays&) {
      EXPECT_EQ(trace.scheduled.at(0).num_hit_tokens, 8);
      EXPECT_EQ(trace.rows.at(0).slot, 6);
    });
    return run;
  };
  const PlantedRun faulty = scenario(SlotCountReset::align_only);
  EXPECT_TRUE(found(faulty.findings(), {.rule = Rule::foreign_row_datum,
                                        .step = 3,
                                        .request = 0,
                                        .row = 0,
                                        .expected = 1,
                                        .seen = 4,
                                        .detail = "accepted count of another request"}));
  EXPECT_TRUE(found(faulty.findings(), {.rule = Rule::read_of_unwritten_block,
                                        .step = 3,
                                        .request = 0,
                                        .group = 1,
                                        .content = ContentKind::temporal,
                                        .column = 3,
                                        .expected = 8}));
  PlantedRun healthy = scenario(SlotCountReset::every_mode);
  healthy.finish();
  EXPECT_TRUE(nothing_found(healthy.findings()));
}

}  // namespace
}  // namespace hybridscope::test::faulty_policies_v2_test
