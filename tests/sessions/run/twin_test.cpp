// Runs held against another one: twins on shipped scenarios, asynchronous and synchronous, and
// machines that decide about copies by themselves.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/language/language_machine.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/twin.h"
#include "sessions/run/twin_compare.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/weights/load_model.h"

namespace hybridscope::twin_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Scenario scenario_of(const std::string& name) {
  return read_scenario_file(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/" + name + ".json")
      .value();
}

Twins twins_of(const Scenario& scenario) {
  Result<Twins> twins = run_twins(scenario, scenario.name);
  EXPECT_TRUE(twins.ok()) << twins.error().message;
  return std::move(twins).value();
}

// "A 10,3 [14][15]; B 8,3 [16][17]": reported c, q, new ids.
std::string scheduled(const TwinRun& run, std::int64_t step) {
  std::string text;
  const TwinFrame* frame = find_frame(run, step);
  if (frame == nullptr) return text;
  for (const TwinRow& row : frame->rows)
    text += fmt::format("{}{} {},{} {}", text.empty() ? "" : "; ", row.request,
                        row.reported_num_computed_tokens, row.num_scheduled_tokens,
                        block_ids_words(row.new_block_ids));
  return text;
}

// Values of the reference's scheduler classes (semantics: async-worked-example).
TEST(AsyncWorkedExample, TheSchedulerGivesTheReferencesNumbers) {
  const Twins twins = twins_of(scenario_of("async_worked_example"));
  const TwinRun& async = twins.base;
  const TwinRun& sync = twins.twin;
  for (const TwinRun* run : {&async, &sync}) {
    EXPECT_EQ(scheduled(*run, 1), "A 0,7 [1 2 3][0 4 5 6]; B 0,5 [7 8][0 9 10 11]");
    EXPECT_EQ(scheduled(*run, 2), "A 7,3 [][12]; B 5,3 [13][]");
  }
  EXPECT_EQ(scheduled(sync, 3), "A 8,3 [11][]");
  EXPECT_EQ(scheduled(async, 3), "A 10,3 [14][15]; B 8,3 [16][17]");
  EXPECT_EQ(scheduled(sync, 4), "A 10,3 [][10]");
  EXPECT_EQ(scheduled(async, 4), "A 11,3 [][]");
  EXPECT_EQ(scheduled(sync, 5), "A 13,3 [9][]");
  EXPECT_EQ(scheduled(async, 5), "A 13,3 [17][]");
}

// Columns worked out by hand there (semantics: async-worked-example).
TEST(AsyncWorkedExample, TheWorkerHasTheSameExactCountsAndColumnsInBoth) {
  const Twins twins = twins_of(scenario_of("async_worked_example"));
  for (const TwinRun* run : {&twins.base, &twins.twin}) {
    std::vector<std::pair<std::int32_t, std::int32_t>> worker;  // exact c, running column
    for (const TwinFrame& frame : run->frames)
      if (const TwinRow* row = find_row(&frame, "A"))
        worker.emplace_back(row->num_computed_tokens, row->running_column);
    EXPECT_THAT(worker, ElementsAre(std::pair(0, 1), std::pair(7, 2), std::pair(8, 2),
                                    std::pair(10, 3), std::pair(13, 3)));
  }
}

TEST(Twins, TheFirstDifferenceIsExplainedByDraftsInFlightAndByTheRequestThatHadEnded) {
  const Twins twins = twins_of(scenario_of("async_worked_example"));
  EXPECT_EQ(twins.comparison.reason, TwinReason::drafts_in_flight);
  EXPECT_EQ(twins.comparison.first_step, 3);
  EXPECT_EQ(twins.comparison.first_request, "A");
  EXPECT_EQ(
      twins.comparison.sentence,
      "In frame 3 A gets [14][15] in async and [11][] in sync: async scheduled A with c = 10, "
      "counting on all drafts of the frame in flight, 2 of which were rejected (exact c 8), so "
      "that its tokens may end at 13; sync knew c = 8, so that they may end at 11; besides, B "
      "had ended when sync scheduled this frame and its blocks 7, 8, 9, 10, 11, 13 were free, "
      "but async still held them, because the frame that ends it was in flight.");
  EXPECT_TRUE(twins.agree());
  EXPECT_EQ(twins.comparison.num_outputs, 12);
  EXPECT_GT(twins.comparison.num_counts_compared, 3);
}

TEST(Twins, WithoutDraftsAndWithoutAnEndBlockIdsNeverDiffer) {
  Scenario scenario;
  scenario.name = "plain";
  scenario.model = "tiny-mamba2";
  scenario.settings.block_size = 8;
  scenario.settings.num_gpu_blocks_override = 32;
  scenario.settings.max_model_len = 64;
  scenario.requests = {{.id = "A", .prompt = {.tokens = 6}, .max_tokens = 9},
                       {.id = "B", .prompt = {.tokens = 9}, .max_tokens = 9}};
  const Twins twins = twins_of(scenario);
  EXPECT_EQ(twins.comparison.reason, TwinReason::never_differ);
  EXPECT_EQ(twins.comparison.first_step, 0);
  EXPECT_TRUE(twins.agree());
}

TEST(Twins, ARequestThatEndsAFrameLaterHoldsItsBlocks) {
  Scenario scenario;
  scenario.name = "ends";
  scenario.model = "tiny-mamba2";
  scenario.settings.block_size = 8;
  scenario.settings.num_gpu_blocks_override = 32;
  scenario.settings.max_model_len = 64;
  scenario.requests = {{.id = "A", .prompt = {.tokens = 6}, .max_tokens = 2},
                       {.id = "B", .prompt = {.tokens = 9}, .max_tokens = 4, .at_step = 3}};
  const Twins twins = twins_of(scenario);
  EXPECT_EQ(twins.comparison.reason, TwinReason::ended_a_frame_later);
  EXPECT_EQ(twins.comparison.first_step, 3);
  EXPECT_EQ(twins.comparison.first_request, "B");
  EXPECT_THAT(twins.comparison.sentence, HasSubstr("A had ended when sync scheduled this frame"));
}

TEST(Twins, WithoutAKeyTheTwinSchedulesTheOtherWayRound) {
  Scenario scenario;
  EXPECT_EQ(twin_settings(scenario).async_scheduling, false);
  scenario.settings.async_scheduling = false;
  EXPECT_EQ(twin_settings(scenario).async_scheduling, true);
  scenario.twin.emplace();
  scenario.twin->runner = ModelRunner::v2;
  EXPECT_EQ(twin_settings(scenario).async_scheduling, std::nullopt);
}

TEST(Twins, ChangedSettingsLeaveTheOthersAlone) {
  EngineSettings base;
  base.block_size = 8;
  base.async_scheduling = true;
  EngineSettings change;
  change.async_scheduling = false;
  const EngineSettings changed = changed_settings(base, change);
  EXPECT_EQ(changed.block_size, 8);
  EXPECT_EQ(changed.async_scheduling, false);
}

TEST(Twins, ATwinThatCannotRunIsRefusedWithItsPlace) {
  Scenario scenario = scenario_of("one_token_left_after_a_hit");
  scenario.twin.emplace();
  scenario.twin->async_scheduling = true;
  const auto twins = run_twins(scenario, "s.json");
  ASSERT_FALSE(twins.ok());
  EXPECT_THAT(twins.error().message, HasSubstr("s.json: /twin/async_scheduling: "));
}

TwinFrame frame_of(std::int64_t step, std::vector<TwinRow> rows) {
  return {.step = step, .rows = std::move(rows), .preempted = {}, .finished = {}};
}

TwinRow row_of(const char* request, std::int32_t row, std::vector<std::int32_t> ids) {
  return {.request = request, .row = row, .new_block_ids = {std::move(ids)}};
}

TEST(TwinComparisons, APreemptionInOneRunComesFirst) {
  TwinRun base{.frames = {frame_of(1, {row_of("A", 0, {1})}), frame_of(2, {row_of("A", 0, {2})})}};
  TwinRun twin{.frames = {frame_of(1, {row_of("A", 0, {1})}), frame_of(2, {row_of("A", 0, {5})})}};
  twin.frames[1].preempted = {"B"};
  const TwinComparison comparison = compare_twins(base, twin, {"async", "sync"});
  EXPECT_EQ(comparison.reason, TwinReason::preemption_timing);
  EXPECT_EQ(comparison.sentence,
            "In frame 2 A gets [2] in async and [5] in sync: B was preempted not yet in async and "
            "in frame 2 in sync.");
}

TEST(TwinComparisons, AnotherOrderOfTheFreeQueueIsToldByItsFirstBlock) {
  TwinRun base{.frames = {frame_of(4, {row_of("A", 0, {4})})},
               .freed = {{.block = 4, .step = 3}, {.block = 7, .step = 3}}};
  TwinRun twin{.frames = {frame_of(4, {row_of("A", 0, {7})})},
               .freed = {{.block = 7, .step = 3}, {.block = 4, .step = 4}}};
  const TwinComparison comparison = compare_twins(base, twin, {"async", "sync"});
  EXPECT_EQ(comparison.reason, TwinReason::freed_in_other_order);
  EXPECT_THAT(comparison.sentence, HasSubstr("the free queues differ: block 4 was freed in step 3 "
                                             "in async and in step 4 in sync"));
}

TEST(TwinComparisons, RowsInAnotherOrderAreNoDifferenceOfBlocks) {
  const TwinRun base{.frames = {frame_of(2, {row_of("A", 0, {}), row_of("B", 1, {})})}};
  const TwinRun twin{.frames = {frame_of(2, {row_of("A", 1, {}), row_of("B", 0, {})})}};
  const TwinComparison comparison = compare_twins(base, twin, {"V1", "V2"});
  EXPECT_EQ(comparison.reason, TwinReason::order_only);
  EXPECT_EQ(comparison.sentence,
            "Block ids never differ, only the batch does: in frame 2 V1 has the rows [A, B] and V2 "
            "has [B, A].");
}

TEST(TwinComparisons, OtherTokensAndOtherCountsAreTold) {
  TwinRun base{.outputs = {{"A", {1, 2}}}, .accepted = {{{"A", 6}, {2, 2, 3, false}}}};
  TwinRun twin{.outputs = {{"A", {1, 3}}}, .accepted = {{{"A", 6}, {2, 2, 1, false}}}};
  const TwinComparison comparison = compare_twins(base, twin, {"async", "sync"});
  EXPECT_EQ(comparison.output_difference, "A has 2 output tokens in async and other 2 in sync");
  EXPECT_EQ(comparison.count_difference, "behind 6 tokens of A async accepts 3 and sync 1");
}

// Another number of drafts, or a scripted count in another frame, is not the same trial.
TEST(TwinComparisons, OnlyPositionsThatBothVerifyAlikeAreCompared) {
  const TwinRun base{.accepted = {{{"A", 6}, {2, 2, 3, false}}, {{"A", 9}, {3, 2, 2, true}}}};
  const TwinRun twin{.accepted = {{{"A", 6}, {2, 1, 2, false}}, {{"A", 9}, {4, 2, 1, false}}}};
  const TwinComparison comparison = compare_twins(base, twin, {"async", "sync"});
  EXPECT_EQ(comparison.num_counts_compared, 0);
  EXPECT_EQ(comparison.count_difference, "");
}

// Machines that decide about copies by themselves: what they decide is compared with the engine.

const std::string kRoot = HYBRIDSCOPE_SOURCE_DIR;

// What machines decided, and the column of a launch's first copying row that they take for another
// one.
struct Decided {
  std::vector<StateCopyRule> rules;  // of launches
  std::int32_t wrong_by = 0;
};

// The host's machine, which says that it decided what the engine decided, or something else.
class DecidingMachine final : public LanguageMachine {
 public:
  DecidingMachine(std::unique_ptr<LanguageMachine> host, Decided& log)
      : host_(std::move(host)), log_(log) {}

  const LanguageLayout& layout() const override { return host_->layout(); }
  void poison(std::span<const std::int32_t> blocks) override { host_->poison(blocks); }
  void zero(std::span<const std::int32_t> blocks) override { host_->zero(blocks); }
  void copy(std::span<const StateCopyOp> copies, bool shifts_last_position_first) override {
    host_->copy(copies, shifts_last_position_first);
  }
  std::optional<std::size_t> copy_decided(const DecidedCopies& decided) override {
    host_->copy(decided.copies, false);
    log_.rules.push_back(decided.decisions.front().decision.rule);
    std::vector<StateCopyDecision>& decisions = decided_.emplace_back();
    for (const CopyDecisionTrace& one : decided.decisions) decisions.push_back(one.decision);
    if (!decided.copies.empty()) decisions.front().dst_col += log_.wrong_by;
    return decided_.size() - 1;
  }
  void copy_blocks(std::span<const BlockCopy> copies) override { host_->copy_blocks(copies); }
  void forward(const MachineForward& batch) override { host_->forward(batch); }
  std::size_t keep_state(const BlockElementRange& place) override {
    return host_->keep_state(place);
  }
  std::size_t keep_logits(std::int32_t token) override { return host_->keep_logits(token); }
  Status finish() override {
    last_ = std::exchange(decided_, {});
    return host_->finish();
  }
  std::span<const float> kept(std::size_t number) const override { return host_->kept(number); }
  std::int32_t greedy(std::size_t number) const override { return host_->greedy(number); }
  std::span<const StateCopyDecision> decided(std::size_t number) const override {
    return last_[number];
  }

 private:
  std::unique_ptr<LanguageMachine> host_;
  Decided& log_;
  std::vector<std::vector<StateCopyDecision>> decided_, last_;
};

// The first error of a run in mode align with drafts; empty: none.
std::string run(ModelRunner runner, Decided& log) {
  Scenario scenario =
      read_scenario_file(kRoot + "/scenarios/align_boundary_by_accepted_drafts.json").value();
  scenario.settings.runner = runner;
  auto model = load_model(kRoot + "/tests/golden/numeric/model_lfm2");
  auto created = CheckedRun::create(
      plan_scenario(scenario, "scenario.json").value(),
      {.language = {.model = std::make_shared<const HybridModel>(std::move(model).value().model),
                    .make_machine = [&log](const LanguageMachineRequest& request)
                        -> Result<std::unique_ptr<LanguageMachine>> {
                      auto host = HostLanguageMachine::create(request);
                      if (!host.ok()) return host.error();
                      return std::unique_ptr<LanguageMachine>(
                          std::make_unique<DecidingMachine>(std::move(host).value(), log));
                    }}});
  CheckedRun& checked = created.value();
  while (!checked.has_ended())
    if (const auto step = checked.step(); !step.ok()) return step.error().message;
  return {};
}

TEST(DecidedCopies, AMachineIsAskedForEveryLaunchOfModeAlign) {
  Decided v1, v2;
  EXPECT_EQ(run(ModelRunner::v1, v1), "");
  EXPECT_EQ(run(ModelRunner::v2, v2), "");
  EXPECT_THAT(v1.rules, testing::AllOf(testing::Contains(StateCopyRule::preprocess_mamba),
                                       testing::Contains(StateCopyRule::postprocess_mamba_v1)));
  EXPECT_THAT(v2.rules,
              testing::AllOf(testing::Contains(StateCopyRule::preprocess_mamba_align_fused_kernel),
                             testing::Contains(StateCopyRule::postprocess_mamba_v2)));
}

TEST(DecidedCopies, AnotherDecisionThanTheEnginesEndsTheRun) {
  for (const ModelRunner runner : {ModelRunner::v1, ModelRunner::v2}) {
    Decided log{.rules = {}, .wrong_by = 1};
    const std::string error = run(runner, log);
    EXPECT_THAT(error, HasSubstr("request 0, row 0: the kernel copies column"));
    EXPECT_THAT(error, HasSubstr("; the engine copies column"));
    EXPECT_THAT(error, HasSubstr("to block"));
  }
}

}  // namespace
}  // namespace hybridscope::twin_test
