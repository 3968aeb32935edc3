// The V2 runner on hand-made scheduler outputs: what differs from V1.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/batch_metadata_policies.h"
#include "core/engine/releases.h"
#include "core/engine/row_inputs_policies.h"
#include "core/engine/worker_policies.h"
#include "tests/core/engine/worker_bench_v2.h"

namespace hybridscope::test::worker_v2_test {
namespace {

using testing::Each;
using testing::ElementsAre;
using enum Admission;

constexpr RequestId A{0}, B{1}, C{2}, D{3};

// Prompt 6, 5 outputs, chunks of 8 and 3; V1 says the second one is not prefilling
// (semantics: is-prefilling).
TEST(WorkerV2, AResumedRequestIsPrefillingUntilAllItKnewIsComputed) {
  WorkerBenchV2 bench(config_v2({.block_size = 4, .num_attention_groups = 0, .max_model_len = 32}));
  bench.add(6);
  const StepTrace& trace = bench.frame(
      {{.request = A, .admission = resumed, .q = 8, .known = 11, .new_blocks = {0, 1}}});
  EXPECT_TRUE(trace.rows.at(0).is_prefilling);
  bench.frame({{.request = A, .c = 8, .q = 3, .known = 11, .new_blocks = {2}}});
  EXPECT_TRUE(trace.rows.at(0).is_prefilling);
  EXPECT_EQ(trace.rows[0].row_class, RowClass::prefill);
  bench.frame({{.request = A, .c = 11, .q = 1, .known = 12}});
  EXPECT_FALSE(trace.rows.at(0).is_prefilling);
  EXPECT_EQ(trace.rows[0].row_class, RowClass::decode);
}

// By shape the same second chunk of 2 tokens is a decode on V1 (known bug 50).
TEST(WorkerV2, ByShapeAResumedTailIsAPrefillAllTheSame) {
  EngineConfig config = config_v2({.block_size = 4,
                                   .num_speculative_tokens = 1,
                                   .num_attention_groups = 0,
                                   .max_model_len = 32});
  config.policies.set(RowClassing::by_shape);
  WorkerBenchV2 bench(config);
  bench.add(6);
  bench.frame({{.request = A, .admission = resumed, .q = 8, .known = 10, .new_blocks = {0, 1, 2}}});
  const StepTrace& trace =
      bench.frame({{.request = A, .c = 8, .q = 2, .known = 10, .new_blocks = {3}}});
  EXPECT_EQ(trace.rows.at(0).row_class, RowClass::prefill);
  EXPECT_EQ(std::get<Mamba2Metadata>(*trace.groups[0].metadata).base.num_prefills, 1);
}

// Mode none, K = 3: A decodes with a = 3, is skipped for a step, and comes back (known bug 48).
TEST(WorkerV2, ASkippedRequestKeepsItsSlotAndCount) {
  WorkerBenchV2 bench(config_v2({.mode = MambaCacheMode::none,
                                 .num_speculative_tokens = 3,
                                 .num_attention_groups = 0,
                                 .max_num_seqs = 4}));
  bench.add(5);
  bench.add(5);
  bench.frame(
      {{.request = A, .admission = new_request, .q = 5, .known = 5, .new_blocks = {1, 2, 3, 4}},
       {.request = B, .admission = new_request, .q = 5, .known = 5, .new_blocks = {5, 6, 7, 8}}});
  bench.frame({{.request = A, .c = 5, .q = 4, .d = 3, .known = 6, .a = 3},
               {.request = B, .c = 5, .q = 4, .d = 3, .known = 6}});
  const StepTrace& trace = bench.frame({{.request = B, .c = 6, .q = 4, .d = 3, .known = 7}});
  EXPECT_THAT(requests(trace), ElementsAre(B));
  EXPECT_EQ(trace.rows[0].origin, RowOrigin::moved);
  bench.frame({{.request = A, .c = 8, .q = 4, .d = 3, .known = 9},
               {.request = B, .c = 7, .q = 4, .d = 3, .known = 8}});
  EXPECT_THAT(idx_mapping(trace), ElementsAre(3, 2));
  EXPECT_EQ(trace.rows[0].num_accepted_tokens, 3);
  EXPECT_EQ(trace.rows[0].num_computed_tokens, 8);
  EXPECT_EQ(trace.rows[0].origin, RowOrigin::returned);
}

// Finished, preempted and reset requests leave; a reset shows only when the request resumes.
TEST(WorkerV2, SlotsOfFinishedPreemptedAndResumedRequestsAreFreed) {
  WorkerBenchV2 bench(
      config_v2({.mode = MambaCacheMode::none, .num_attention_groups = 0, .max_num_seqs = 3}));
  std::vector<Entry> all;
  for (const RequestId id : {A, B, C}) {
    bench.add(5);
    all.push_back({.request = id,
                   .admission = new_request,
                   .q = 5,
                   .known = 5,
                   .new_blocks = {1 + id.value}});
  }
  bench.add(5);
  EXPECT_THAT(idx_mapping(bench.frame(all)), ElementsAre(2, 1, 0));
  const StepTrace& trace =
      bench.frame({{.request = C, .admission = resumed, .q = 6, .known = 6, .new_blocks = {4}},
                   {.request = D, .admission = new_request, .q = 5, .known = 5, .new_blocks = {5}}},
                  {A}, {B});
  EXPECT_EQ(bench.slots().slot_of(A), -1);
  EXPECT_EQ(bench.slots().slot_of(B), -1);
  EXPECT_THAT(requests(trace), ElementsAre(D, C));
  EXPECT_EQ(bench.slots().slot_of(C), 0);
  EXPECT_EQ(bench.slots().slot_of(D), 1);
}

// A is preempted, B finishes: A's slot is freed first, so the next request gets B's.
TEST(WorkerV2, SlotsOfOneStepAreFreedInTheOrderOfNames) {
  WorkerBenchV2 bench(
      config_v2({.mode = MambaCacheMode::none, .num_attention_groups = 0, .max_num_seqs = 2}));
  for (int i = 0; i < 3; ++i) bench.add(5);
  bench.frame({{.request = A, .admission = new_request, .q = 5, .known = 5, .new_blocks = {1}},
               {.request = B, .admission = new_request, .q = 5, .known = 5, .new_blocks = {2}}});
  ASSERT_EQ(bench.slots().slot_of(B), 0);
  bench.frame({{.request = C, .admission = new_request, .q = 5, .known = 5, .new_blocks = {3}}},
              {B}, {A});
  EXPECT_EQ(bench.slots().slot_of(C), 0);
}

// A is preempted and resumed in one step, in which B is new: B gets the slot that A had.
TEST(WorkerV2, NewRequestsGetTheirSlotsBeforeResumedOnes) {
  WorkerBenchV2 bench(
      config_v2({.mode = MambaCacheMode::none, .num_attention_groups = 0, .max_num_seqs = 2}));
  for (int i = 0; i < 2; ++i) bench.add(5);
  bench.frame({{.request = A, .admission = new_request, .q = 5, .known = 5, .new_blocks = {1}}});
  ASSERT_EQ(bench.slots().slot_of(A), 1);
  bench.frame({{.request = A, .admission = resumed, .q = 6, .known = 6, .new_blocks = {2}},
               {.request = B, .admission = new_request, .q = 5, .known = 5, .new_blocks = {3}}},
              {}, {A});
  EXPECT_EQ(bench.slots().slot_of(B), 1);
  EXPECT_EQ(bench.slots().slot_of(A), 0);
}

// Both were reset: each leaves its slot just before it is admitted again, and so gets it back.
TEST(WorkerV2, ARequestThatIsResumedAfterAResetGetsItsOwnSlot) {
  WorkerBenchV2 bench(
      config_v2({.mode = MambaCacheMode::none, .num_attention_groups = 0, .max_num_seqs = 2}));
  for (int i = 0; i < 2; ++i) bench.add(5);
  bench.frame({{.request = A, .admission = new_request, .q = 5, .known = 5, .new_blocks = {1}},
               {.request = B, .admission = new_request, .q = 5, .known = 5, .new_blocks = {2}}});
  bench.frame({{.request = A, .admission = resumed, .q = 6, .known = 6, .new_blocks = {3}},
               {.request = B, .admission = resumed, .q = 6, .known = 6, .new_blocks = {4}}});
  EXPECT_EQ(bench.slots().slot_of(A), 1);
  EXPECT_EQ(bench.slots().slot_of(B), 0);
}

// K = 2: A verifies; B has computed 8 tokens of 9, its last one is padded to 3; C has no state.
TEST(WorkerV2, OneTokenOfAPromptWithAStateRunsAsADecodeFrom031On) {
  for (const Release release : {Release::v0_30_0, Release::v0_31_0}) {
    EngineConfig config = config_v2(
        {.mode = MambaCacheMode::none, .num_speculative_tokens = 2, .num_attention_groups = 0});
    config.policies = release_policies(release, ModelRunner::v2);
    WorkerBenchV2 bench(config);
    for (const std::int32_t prompt : {5, 9, 1}) bench.add(prompt);
    bench.frame(
        {{.request = A, .admission = new_request, .q = 5, .known = 5, .new_blocks = {1, 2, 3}},
         {.request = B, .admission = new_request, .q = 8, .known = 9, .new_blocks = {4, 5, 6}}});
    const bool as_decode = release == Release::v0_31_0;
    const StepTrace& trace =
        bench.frame({{.request = A, .c = 5, .q = 3, .d = 2, .known = 6},
                     {.request = B, .c = 8, .q = 3, .d = 2, .known = 9, .padded = true}});
    ASSERT_THAT(requests(trace), ElementsAre(A, B));
    EXPECT_EQ(trace.rows[1].is_prefilling, !as_decode);
    EXPECT_EQ(trace.rows[1].num_draft_count, 2);
    EXPECT_EQ(trace.rows[1].row_class, as_decode ? RowClass::verify : RowClass::prefill);
    EXPECT_EQ(trace.uniform_decode, as_decode);
    bench.frame({{.request = C,
                  .admission = new_request,
                  .q = 3,
                  .d = 2,
                  .known = 1,
                  .new_blocks = {7, 8, 9},
                  .padded = true}});
    EXPECT_TRUE(trace.rows.at(0).is_prefilling);
    EXPECT_FALSE(trace.uniform_decode);
  }
}

// A frame of an asynchronous engine: the scheduler counted on both drafts of A, one was accepted.
TEST(WorkerV2, RowsGoOnFromTheExactCountAndTestPrefillWithTheReportedOne) {
  WorkerBenchV2 bench(config_v2({.block_size = 4,
                                 .num_speculative_tokens = 2,
                                 .num_attention_groups = 0,
                                 .max_model_len = 32}));
  bench.add(7);
  bench.frame(
      {{.request = A, .admission = new_request, .q = 7, .known = 7, .new_blocks = {0, 1, 2, 3}}});
  bench.frame({{.request = A, .c = 7, .q = 3, .d = 2, .known = 7, .new_blocks = {4}}});
  const StepTrace& trace =
      bench.frame({{.request = A, .c = 10, .q = 3, .d = 2, .known = 8, .new_blocks = {5}}});
  EXPECT_EQ(trace.rows.at(0).num_computed_tokens, 8);
  EXPECT_EQ(bench.slot(7).num_computed_tokens_reported, 10);
  EXPECT_THAT(trace.common.seq_lens, ElementsAre(11));
  EXPECT_EQ(trace.pre_copies.decisions.at(0).decision.dst_col, 2);
}

// Mode none, K = 1: Z left a count of 2 in the slot (known bug 13).
TEST(WorkerV2, AnAdmittedRequestsCountStartsAtOneUnlessOnlyAlignResetsIt) {
  for (const SlotCountReset reset : {SlotCountReset::every_mode, SlotCountReset::align_only}) {
    EngineConfig config = config_v2(
        {.mode = MambaCacheMode::none, .num_speculative_tokens = 1, .num_attention_groups = 0});
    config.policies.set(reset);
    WorkerBenchV2 bench(config);
    bench.add(5);
    bench.add(5);
    bench.frame(
        {{.request = A, .admission = new_request, .q = 5, .known = 5, .new_blocks = {1, 2}}});
    bench.frame({{.request = A, .c = 5, .q = 2, .d = 1, .known = 6, .a = 2}});
    const StepTrace& trace = bench.frame(
        {{.request = B, .admission = new_request, .q = 5, .known = 5, .new_blocks = {3, 4}}}, {A});
    const bool safe = reset == SlotCountReset::every_mode;
    EXPECT_EQ(trace.rows.at(0).slot, 7);
    EXPECT_EQ(trace.rows[0].num_accepted_tokens, safe ? 1 : 2);
    EXPECT_EQ(trace.rows[0].accepted_from, safe ? B : A);
  }
}

// A hit of 16 tokens: column 0 in blocks of 16, column 3 in blocks of 4 (known bug 11).
TEST(WorkerV2, AnAdmittedRequestsColumnIsCountedInMambaBlocks) {
  for (const InitialStateColumn unit :
       {InitialStateColumn::mamba_block_size, InitialStateColumn::cache_config_block_size}) {
    EngineConfig config = config_v2({.block_size = 16,
                                     .num_speculative_tokens = 1,
                                     .num_attention_groups = 0,
                                     .max_model_len = 96});
    config.block_size = 4;
    config.policies.set(unit);
    WorkerBenchV2 bench(config);
    bench.add(20);
    const StepTrace& trace = bench.frame({{.request = A,
                                           .admission = new_request,
                                           .c = 16,
                                           .q = 4,
                                           .known = 20,
                                           .new_blocks = {1, 2, 3}}});
    const StateCopyDecision& decision = trace.pre_copies.decisions.at(0).decision;
    EXPECT_EQ(decision.src_col, unit == InitialStateColumn::mamba_block_size ? 0 : 3);
    EXPECT_EQ(decision.dst_col, 1);
  }
}

// K = 0, graphs of 1, 2 and 4 rows: three decodes run in the graph of four rows.
TEST(WorkerV2, PaddingRowsAreNulledOverTheirFullWidthAndOldTailsStay) {
  EngineConfig config = config_v2(
      {.block_size = 4, .num_attention_groups = 0, .max_model_len = 12, .max_num_seqs = 4});
  config.cudagraph_capture_sizes = {1, 2, 4};
  WorkerBenchV2 bench(config);
  std::vector<Entry> prompts, decodes;
  for (const RequestId id : {A, B, C, D}) {
    bench.add(3);
    const std::int32_t first = 10 * (id.value + 1);
    prompts.push_back({.request = id,
                       .admission = new_request,
                       .q = 3,
                       .known = 3,
                       .new_blocks = {first, first + 1}});
    decodes.push_back({.request = id, .c = 3, .q = 1, .known = 4});
  }
  decodes[3].new_blocks = {42};
  bench.frame(prompts);
  const StepTrace& trace = bench.frame(decodes);
  EXPECT_THAT(table_row(trace, 3), ElementsAre(40, 41, 42, 0));
  std::vector<Entry> three;
  for (const RequestId id : {D, B, C}) three.push_back({.request = id, .c = 4, .q = 1, .known = 5});
  bench.frame(three, {A});
  EXPECT_EQ(trace.common.num_reqs, 4);
  EXPECT_THAT(table_row(trace, 3), Each(0));
  EXPECT_THAT(table_row(trace, 0), ElementsAre(40, 41, 42, 0));
  // One row in a graph of one: B is where D's longer list was.
  bench.frame({{.request = B, .c = 5, .q = 1, .known = 6}});
  EXPECT_THAT(table_row(trace, 0), ElementsAre(20, 21, 42, 0));
}

// No metadata is taken over from another group (semantics: several-groups).
TEST(WorkerV2, EveryGroupBuildsItsMetadata) {
  for (const ModelRunner runner : {ModelRunner::v1, ModelRunner::v2}) {
    EngineConfig config = engine_config({.num_mamba_groups = 3});
    config.runner = runner;
    Engine engine = Engine::create(config).value();
    engine.add_request(request_of(5, 3, 1)).value();
    const StepTrace& trace = engine.step();
    for (const std::size_t group : {2U, 3U})
      EXPECT_EQ(trace.groups[group].reused_metadata, runner == ModelRunner::v1);
  }
}

TEST(WorkerV2, EqualGroupsMayShareABuild) {
  EngineConfig config = engine_config({.num_mamba_groups = 3});
  config.runner = ModelRunner::v2;
  config.policies.set(GroupBuilds::shared_by_equal_groups);
  Engine engine = Engine::create(config).value();
  engine.add_request(request_of(5, 3, 1)).value();
  const StepTrace& trace = engine.step();
  EXPECT_FALSE(trace.groups[1].reused_metadata);
  EXPECT_TRUE(trace.groups[2].reused_metadata);
  EXPECT_TRUE(trace.groups[3].reused_metadata);
}

// A step without drafts: V1 passes nothing, V2 passes the counts
// (semantics: draft-and-accepted-counts; known bug 7).
TEST(WorkerV2, AStepWithoutDraftsKeepsTheCountsInEitherProfile) {
  for (const NoDraftStep policy : {NoDraftStep::verify_with_counts, NoDraftStep::column_zero}) {
    EngineConfig config = config_v2(
        {.mode = MambaCacheMode::none, .num_speculative_tokens = 3, .num_attention_groups = 0});
    config.policies.set(policy);
    WorkerBenchV2 bench(config);
    bench.add(5);
    bench.frame(
        {{.request = A, .admission = new_request, .q = 5, .known = 5, .new_blocks = {1, 2, 3, 4}}});
    bench.frame({{.request = A, .c = 5, .q = 4, .d = 3, .known = 6, .a = 3}});
    const StepTrace& trace = bench.frame({{.request = A, .c = 8, .q = 1, .known = 9}});
    EXPECT_TRUE(trace.groups[0].accepted_counts_given);
    const auto& metadata = std::get<Mamba2Metadata>(*trace.groups[0].metadata).base;
    EXPECT_EQ(metadata.num_accepted_tokens.at(0), 3);
  }
}

TEST(WorkerV2, ModeAllRemembersTheLastScheduledColumnASlot) {
  WorkerBenchV2 bench(config_v2({.mode = MambaCacheMode::all,
                                 .block_size = 4,
                                 .num_speculative_tokens = 1,
                                 .num_attention_groups = 0,
                                 .max_model_len = 32}));
  bench.add(7);
  bench.frame(
      {{.request = A, .admission = new_request, .q = 7, .known = 7, .new_blocks = {1, 2, 3}}});
  EXPECT_EQ(bench.slot(7).last_scheduled_col, 1);
  bench.frame({{.request = A, .c = 7, .q = 2, .d = 1, .known = 8, .new_blocks = {4}}});
  EXPECT_EQ(bench.slot(7).last_scheduled_col, 2);
  const StepTrace& trace = bench.frame({{.request = A, .c = 8, .q = 2, .d = 1, .known = 9}});
  EXPECT_EQ(trace.groups[0].temporal_source_column.at(0), 2);
}

TEST(WorkerV2, AStepWithoutTokensLaunchesNothingAndKeepsTheSlots) {
  WorkerBenchV2 bench(config_v2({.num_attention_groups = 0}));
  bench.add(5);
  bench.frame({{.request = A, .admission = new_request, .q = 5, .known = 5, .new_blocks = {1}}});
  const StepTrace& trace = bench.frame({});
  EXPECT_TRUE(trace.rows.empty());
  EXPECT_EQ(trace.common.num_reqs, 0);
  EXPECT_EQ(bench.slots().slot_of(A), 7);
}

}  // namespace
}  // namespace hybridscope::test::worker_v2_test
