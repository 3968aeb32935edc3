// The V2 runner on hand-made scheduler outputs: the worked examples of RUNNER 2 and what differs
// from V1.
#include "core/engine/worker_v2.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/small_engine.h"

namespace hybridscope::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using Ids = std::vector<std::int32_t>;
using enum Admission;

constexpr RequestId A{0}, B{1}, C{2}, D{3};

// What the scheduler says about one request, and how many tokens it will accept.
struct Entry {
  RequestId request{};
  Admission admission = running;
  std::int32_t c = 0;  // as reported
  std::int32_t q = 0;
  std::int32_t d = 0;
  std::int32_t known = 0;
  Ids new_blocks{};  // of every group
  std::int32_t a = 1;
  bool padded = false;
};

// A worker that is fed step by step.
class Bench {
 public:
  explicit Bench(const EngineConfig& config)
      : config_(config), worker_(WorkerV2::create(config).value()) {
    trace_.groups = make_group_traces(config.kv_cache_config);
  }

  RequestId add(std::int32_t num_prompt_tokens) {
    EngineRequest& request = requests_.add("r");
    request.key = static_cast<std::uint64_t>(request.scheduling.id.value) + 1;
    request.tokens =
        TokenSequence({{.content = request.key, .length = num_prompt_tokens}}, 0, request.key);
    request.prefix = PrefixFingerprints(0, config_.hash_block_size, config_.conv_kernel - 2);
    request.scheduling.num_prompt_tokens = num_prompt_tokens;
    return request.scheduling.id;
  }

  const StepTrace& frame(const std::vector<Entry>& entries, std::vector<RequestId> finished = {},
                         std::vector<RequestId> preempted = {}) {
    trace_.clear();
    trace_.preempted = std::move(preempted);
    NewBlocks blocks{.ids = {}, .starts = {0}};
    for (const Entry& entry : entries) {
      EngineRequest& request = requests_[entry.request];
      request.prefix.extend_to(request.tokens, entry.known);
      request.scripted_num_accepted = entry.a;
      trace_.scheduled.push_back({.request = entry.request,
                                  .admission = entry.admission,
                                  .num_computed_tokens = entry.c,
                                  .num_scheduled_tokens = entry.q,
                                  .num_draft_tokens = entry.d,
                                  .num_tokens = entry.known,
                                  .num_prompt_tokens = request.scheduling.num_prompt_tokens,
                                  .placeholder_drafts = entry.padded});
      for (std::size_t g = 0; g < trace_.groups.size(); ++g) {
        blocks.ids.insert(blocks.ids.end(), entry.new_blocks.begin(), entry.new_blocks.end());
        blocks.starts.push_back(blocks.ids.size());
      }
    }
    worker_.prepare(trace_, blocks, finished, requests_);
    worker_.sample(trace_, requests_);
    return trace_;
  }

  const RequestSlot& slot(std::int32_t index) const { return worker_.slots().slot(index); }
  const BatchSlotsV2& slots() const { return worker_.slots(); }

 private:
  EngineConfig config_;
  WorkerV2 worker_;
  RequestList requests_;
  StepTrace trace_;
};

EngineConfig config_v2(const SmallEngine& small) {
  EngineConfig config = engine_config(small);
  config.runner = ModelRunner::v2;
  return config;
}

std::vector<RequestId> requests(const StepTrace& trace) {
  std::vector<RequestId> result;
  for (const RowTrace& row : trace.rows) result.push_back(row.request);
  return result;
}

Ids idx_mapping(const StepTrace& trace) {
  Ids result;
  for (const RowTrace& row : trace.rows) result.push_back(row.slot);
  return result;
}

// Row `row` of a group's table over its full width.
Ids table_row(const StepTrace& trace, std::int32_t row, std::size_t group = 0) {
  const TensorView<std::int32_t>& table = trace.groups[group].block_table;
  Ids ids;
  for (std::int32_t column = 0; column < table.cols; ++column) ids.push_back(table.at(row, column));
  return ids;
}

// RUNNER 2.3, K = 3, scheduler order A (4 tokens, verify), P (20, prefill), T (2, tail), D (1).
class RowOrderExample : public testing::Test {
 protected:
  Ids order(RowOrder policy) const {
    const std::vector<ScheduledTrace> scheduled = {
        {.num_scheduled_tokens = 4, .num_draft_tokens = 3},
        {.num_scheduled_tokens = 20},
        {.num_scheduled_tokens = 2},
        {.num_scheduled_tokens = 1}};
    const std::vector<RowClass> row_classes = {RowClass::verify, RowClass::prefill,
                                               RowClass::prefill, RowClass::verify};
    return order_rows_v2(
        {.scheduled = scheduled, .row_classes = row_classes, .num_speculative_tokens = 3}, policy);
  }
};

TEST_F(RowOrderExample, TheReferenceOfJuneSortsByTokensAlone) {
  EXPECT_THAT(order(RowOrder::query_len), ElementsAre(3, 2, 0, 1));
}

TEST_F(RowOrderExample, TheReferenceOfAugustPutsRowsWithDraftsFirst) {
  EXPECT_THAT(order(RowOrder::drafts_then_query_len), ElementsAre(0, 3, 2, 1));
}

TEST_F(RowOrderExample, SafePutsDecodesFirst) {
  EXPECT_THAT(order(RowOrder::decodes_then_query_len), ElementsAre(3, 0, 2, 1));
}

TEST(RowOrder, RowsOfEqualKeyStayInTheSchedulersOrder) {
  const std::vector<ScheduledTrace> scheduled(3, {.num_scheduled_tokens = 2});
  const std::vector<RowClass> row_classes(3, RowClass::verify);
  for (const RowOrder order :
       {RowOrder::decodes_then_query_len, RowOrder::query_len, RowOrder::drafts_then_query_len})
    EXPECT_THAT(order_rows_v2({.scheduled = scheduled, .row_classes = row_classes}, order),
                ElementsAre(0, 1, 2));
}

// RUNNER 2.4: at most 4 requests, align, B = 4, K = 1.
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
  Bench bench_;
};

TEST_F(SlotExample, APromptStartsInItsLastColumn) {
  const StepTrace& trace = frame_1();
  EXPECT_THAT(idx_mapping(trace), ElementsAre(3));
  EXPECT_TRUE(trace.pre_copies.copies.empty());
  EXPECT_EQ(trace.pre_copies.decisions.at(0).decision.outcome, StateCopyOutcome::fresh_state);
  EXPECT_EQ(trace.post_copies.decisions.at(0).decision.outcome, StateCopyOutcome::no_boundary);
  const RequestSlot& slot = bench_.slot(3);
  EXPECT_EQ(slot.src_col, -1);
  EXPECT_EQ(slot.state_idx, 1);
  EXPECT_EQ(slot.num_computed_tokens, 6);
  EXPECT_EQ(slot.num_accepted_tokens, 1);
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
  EXPECT_EQ(bench_.slot(3).num_computed_tokens, 8);
  EXPECT_EQ(bench_.slot(3).num_accepted_tokens, 1);
}

TEST_F(SlotExample, BothRequestsMoveTheirStateToTheNextColumn) {
  frame_1();
  frame_2();
  const StepTrace& trace = frame_3();
  EXPECT_THAT(requests(trace), ElementsAre(A, B));
  EXPECT_THAT(idx_mapping(trace), ElementsAre(3, 2));
  EXPECT_EQ(bench_.slot(3).src_col, 1);
  EXPECT_EQ(bench_.slot(3).src_off, 0);
  EXPECT_EQ(bench_.slot(3).state_idx, 2);
  EXPECT_EQ(bench_.slot(2).src_col, 0);
  EXPECT_EQ(bench_.slot(2).src_off, 0);
  EXPECT_EQ(bench_.slot(2).state_idx, 1);
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
    const RequestSlot& slot = bench_.slot(bench_.slots().slot_of(entry.request));
    const StateCopyDecision kernel = decide_precopy_v2(
        {.src_col = slot.src_col, .src_off = slot.src_off, .state_idx = slot.state_idx});
    EXPECT_EQ(kernel.copies(), entry.decision.copies());
    EXPECT_EQ(kernel.src_col, entry.decision.src_col);
    EXPECT_EQ(kernel.dst_col, entry.decision.dst_col);
    EXPECT_EQ(kernel.accept_token_bias, entry.decision.accept_token_bias);
  }
}

// RUNNER 3.2: prompt 6, 5 outputs, chunks of 8 and 3; V1 says the second one is not prefilling.
TEST(WorkerV2, AResumedRequestIsPrefillingUntilAllItKnewIsComputed) {
  Bench bench(config_v2({.block_size = 4, .num_attention_groups = 0, .max_model_len = 32}));
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

// By shape the same second chunk of 2 tokens is a decode on V1 (KNOWN_BUGS 50).
TEST(WorkerV2, ByShapeAResumedTailIsAPrefillAllTheSame) {
  EngineConfig config = config_v2({.block_size = 4,
                                   .num_speculative_tokens = 1,
                                   .num_attention_groups = 0,
                                   .max_model_len = 32});
  config.policies.row_classing = RowClassing::by_shape;
  Bench bench(config);
  bench.add(6);
  bench.frame({{.request = A, .admission = resumed, .q = 8, .known = 10, .new_blocks = {0, 1, 2}}});
  const StepTrace& trace =
      bench.frame({{.request = A, .c = 8, .q = 2, .known = 10, .new_blocks = {3}}});
  EXPECT_EQ(trace.rows.at(0).row_class, RowClass::prefill);
  EXPECT_EQ(std::get<Mamba2Metadata>(*trace.groups[0].metadata).base.num_prefills, 1);
}

// Mode none, K = 3: A decodes with a = 3, is skipped for a step, and comes back (KNOWN_BUGS 48).
TEST(WorkerV2, ASkippedRequestKeepsItsSlotAndCount) {
  Bench bench(config_v2({.mode = MambaCacheMode::none,
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

// Finished, preempted and reset requests leave; the last one is told by its resumption alone.
TEST(WorkerV2, SlotsOfFinishedPreemptedAndResumedRequestsAreFreed) {
  Bench bench(
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

// A frame of an asynchronous engine: the scheduler counted on both drafts of A, one was accepted.
TEST(WorkerV2, RowsGoOnFromTheExactCountAndTestPrefillWithTheReportedOne) {
  Bench bench(config_v2({.block_size = 4,
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

// Mode none, K = 1: Z left a count of 2 in the slot (KNOWN_BUGS 13).
TEST(WorkerV2, AnAdmittedRequestsCountStartsAtOneUnlessOnlyAlignResetsIt) {
  for (const SlotCountReset reset : {SlotCountReset::every_mode, SlotCountReset::align_only}) {
    EngineConfig config = config_v2(
        {.mode = MambaCacheMode::none, .num_speculative_tokens = 1, .num_attention_groups = 0});
    config.policies.slot_count_reset = reset;
    Bench bench(config);
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

// A hit of 16 tokens: column 0 in blocks of 16, column 3 in blocks of 4 (KNOWN_BUGS 11).
TEST(WorkerV2, AnAdmittedRequestsColumnIsCountedInMambaBlocks) {
  for (const InitialStateColumn unit :
       {InitialStateColumn::mamba_block_size, InitialStateColumn::cache_config_block_size}) {
    EngineConfig config = config_v2({.block_size = 16,
                                     .num_speculative_tokens = 1,
                                     .num_attention_groups = 0,
                                     .max_model_len = 96});
    config.block_size = 4;
    config.policies.initial_state_column = unit;
    Bench bench(config);
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
  Bench bench(config);
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
  // One row in a graph of one: B stands where D's longer list was.
  bench.frame({{.request = B, .c = 5, .q = 1, .known = 6}});
  EXPECT_THAT(table_row(trace, 0), ElementsAre(20, 21, 42, 0));
}

// RUNNER 3.5: no metadata is taken over from another group.
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

// RUNNER 3.4, a step without drafts: V1 passes nothing, V2 passes the counts (KNOWN_BUGS 7).
TEST(WorkerV2, AStepWithoutDraftsKeepsTheCountsInEitherProfile) {
  for (const NoDraftStep policy : {NoDraftStep::verify_with_counts, NoDraftStep::column_zero}) {
    EngineConfig config = config_v2(
        {.mode = MambaCacheMode::none, .num_speculative_tokens = 3, .num_attention_groups = 0});
    config.policies.no_draft_step = policy;
    Bench bench(config);
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
  Bench bench(config_v2({.mode = MambaCacheMode::all,
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
  Bench bench(config_v2({.num_attention_groups = 0}));
  bench.add(5);
  bench.frame({{.request = A, .admission = new_request, .q = 5, .known = 5, .new_blocks = {1}}});
  const StepTrace& trace = bench.frame({});
  EXPECT_TRUE(trace.rows.empty());
  EXPECT_EQ(trace.common.num_reqs, 0);
  EXPECT_EQ(bench.slots().slot_of(A), 7);
}

}  // namespace
}  // namespace hybridscope::test
