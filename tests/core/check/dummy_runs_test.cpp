// Dummy runs of a data-parallel rank (known bug 14): steps without tokens that go through block
// tables of earlier steps, and the same runs with zeroed tables.
#include <gtest/gtest.h>

#include "core/engine/dummy_run.h"
#include "core/engine/dummy_run_policies.h"
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

}  // namespace
}  // namespace hybridscope::test::dummy_runs_test
