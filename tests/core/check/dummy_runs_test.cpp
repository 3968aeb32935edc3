// Dummy runs of a data-parallel rank (known bug 14): steps without tokens that go through block
// tables of earlier steps, and the same runs with zeroed tables.

#include <gtest/gtest.h>

#include "core/engine/dummy_run.h"
#include "core/engine/policy_table.h"
#include "core/engine/releases.h"
#include "core/engine/worker_policies.h"
#include "kernels/cpu/cpu_state_backend.h"
#include "tests/core/check/planted.h"

namespace hybridscope::test::dummy_runs_test {
namespace {

EngineConfig rank_of_two(const SmallEngine& small, DummyRunTables tables) {
  EngineConfig config = engine_config(small);
  config.data_parallel_size = 2;
  config.policies.set(tables);
  return config;
}

// Rows [A, B]; A ends with step 2, so that B moves to row 0 in step 3. Step 4 schedules nothing.
PlantedRun row_that_moved(const EngineConfig& config) {
  PlantedRun run(CheckScope::step, config);
  run.add(request_of(4, 2, 1)).add(request_of(4, 20, 2)).steps(3);
  EXPECT_TRUE(nothing_found(run.findings()));
  run.apply(SetStepBudget{0}).steps(2);
  return run;
}

TEST(DummyRuns, V1RowThatMovedLeavesItsBlockBehind) {
  const SmallEngine small{.mode = MambaCacheMode::none};
  const PlantedRun faulty = row_that_moved(rank_of_two(small, DummyRunTables::left_over));
  EXPECT_TRUE(found_only(
      faulty.findings(),
      {{.rule = Rule::padded_row_not_null,
        .step = 4,
        .request = -1,
        .row = 1,
        .group = 1,
        .column = 0,
        .detail = "a row of a dummy run"},
       {.rule = Rule::running_state_wrong,
        .step = 5,
        .request = 1,
        .group = 1,
        .content = ContentKind::temporal,
        .column = 0,
        .expected = 6,
        .cause =
            ExpectedCause{.kind = WriteKind::decode, .step = 4, .request = -1, .num_tokens = 7}}}));
  PlantedRun healthy = row_that_moved(rank_of_two(small, DummyRunTables::zeroed));
  healthy.finish();
  EXPECT_TRUE(nothing_found(healthy.findings()));
}

// Rows [A, B, C, D] become [D, B, C], which a graph of four pads: row 3 is nulled on the device,
// the host's still names D's block.
TEST(DummyRuns, V1PaddingLeavesTheHostsRowAsItWas) {
  PlantedRun run(CheckScope::step,
                 rank_of_two({.mode = MambaCacheMode::none}, DummyRunTables::left_over));
  run.add(request_of(4, 2, 1));
  for (const std::uint64_t text : {2U, 3U, 4U}) run.add(request_of(4, 20, text));
  run.steps(2).step([](StepTrace& trace, OwnedArrays&) {
    EXPECT_EQ(trace.rows.at(0).request, RequestId{3});
    EXPECT_EQ(trace.common.num_reqs, 4);
  });
  EXPECT_TRUE(nothing_found(run.findings()));
  run.apply(SetStepBudget{0}).steps(2);
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::padded_row_not_null, .step = 4, .row = 3}));
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::running_state_wrong, .step = 5, .request = 3}));
}

TEST(DummyRuns, V2TakesTheRowsThatWereGatheredLast) {
  const auto scenario = [](DummyRunTables tables) {
    EngineConfig config = rank_of_two({.mode = MambaCacheMode::none}, tables);
    config.runner = ModelRunner::v2;
    PlantedRun run(CheckScope::step, config);
    run.add(request_of(4, 20, 1)).steps(2).apply(SetStepBudget{0}).steps(2);
    return run;
  };
  const PlantedRun faulty = scenario(DummyRunTables::left_over);
  EXPECT_TRUE(
      found_only(faulty.findings(),
                 {{.rule = Rule::padded_row_not_null, .step = 3, .row = 0, .group = 1},
                  {.rule = Rule::running_state_wrong, .step = 4, .request = 0, .expected = 5}}));
  PlantedRun healthy = scenario(DummyRunTables::zeroed);
  healthy.finish();
  EXPECT_TRUE(nothing_found(healthy.findings()));
}

// Two requests, then one: rows 0 and 1 both name the block of the one that is left.
TEST(DummyRuns, RowsOfOneBlockFoldOnePlaceholder) {
  EngineConfig config = rank_of_two({.mode = MambaCacheMode::none}, DummyRunTables::left_over);
  config.runner = ModelRunner::v2;
  const PlantedRun run = row_that_moved(config);
  for (const std::int32_t row : {0, 1})
    EXPECT_TRUE(found(run.findings(), {.rule = Rule::padded_row_not_null, .step = 4, .row = row}));
  EXPECT_TRUE(found(run.findings(),
                    {.rule = Rule::running_state_wrong,
                     .step = 5,
                     .request = 1,
                     .expected = 6,
                     .cause = ExpectedCause{
                         .kind = WriteKind::decode, .step = 4, .request = -1, .num_tokens = 7}}));
}

TEST(DummyRuns, AreRunByDataParallelRanksAlone) {
  EngineConfig config = rank_of_two({.mode = MambaCacheMode::none}, DummyRunTables::left_over);
  config.data_parallel_size = 1;
  EXPECT_TRUE(nothing_found(row_that_moved(config).findings()));
}

TEST(DummyRuns, WithoutFullGraphsTouchNothing) {
  EngineConfig config = rank_of_two({.mode = MambaCacheMode::none}, DummyRunTables::left_over);
  config.cudagraph_mode = CUDAGraphMode::piecewise;
  EXPECT_TRUE(nothing_found(row_that_moved(config).findings()));
}

TEST(DummyRuns, BytesAreThoseOfTheSymbolicState) {
  const EngineConfig config =
      rank_of_two({.mode = MambaCacheMode::none}, DummyRunTables::left_over);
  const auto backend =
      CpuStateBackend::create(make_state_memory(config.kv_cache_config, {}).value()).value();
  PlantedRun run(CheckScope::all, config);
  run.keep_state_in(*backend);
  run.add(request_of(4, 2, 1)).add(request_of(4, 20, 2)).steps(3);
  run.apply(SetStepBudget{0}).steps(4);
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::padded_row_not_null, .step = 4}));
  EXPECT_FALSE(found(run.findings(), {.rule = Rule::state_bytes_wrong}));
}

TEST(DummyRuns, HaveTheRowsOfTheLargestGraphOfDecodes) {
  EngineConfig config;
  config.max_num_seqs = 6;
  config.num_speculative_tokens = 1;
  const CudagraphResolution graphs{.cudagraph_mode = CUDAGraphMode::full_and_piecewise,
                                   .capture_sizes = {2, 4, 8, 16}};
  EXPECT_EQ(num_dummy_rows(config, graphs), 4);  // 8 tokens; 16 would be 8 rows
  config.max_num_seqs = 8;
  EXPECT_EQ(num_dummy_rows(config, graphs), 8);
  EXPECT_EQ(num_dummy_rows(config, {.cudagraph_mode = CUDAGraphMode::piecewise,
                                    .capture_sizes = {2, 4, 8, 16}}),
            0);
}

// As faulty_policies_test: faults of runner V2.

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

}  // namespace hybridscope::test::dummy_runs_test
