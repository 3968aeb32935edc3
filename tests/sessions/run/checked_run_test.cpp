#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"
#include "sessions/scenario/scenario_reader.h"

namespace hybridscope::checked_run_test {
namespace {

using testing::IsEmpty;
using testing::Not;

RunPlan plan_of_text(const std::string& text) {
  return plan_scenario(parse_scenario({text, "test.json"}).value(), "test.json").value();
}

// A and B make 4 tokens each, one a step.
RunPlan two_requests() {
  return plan_of_text(R"({"version": 1, "model": "tiny-mamba2", "settings": {
      "mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 32,
      "max_model_len": 64, "async_scheduling": false},
      "requests": [{"id": "A", "prompt": 4, "max_tokens": 4},
                   {"id": "B", "prompt": 4, "max_tokens": 4}]})");
}

// Blocks of a preempted request come a frame late. The reference preempts on meanwhile: A and B
// preempt each other for ever.
RunPlan crowded_requests(const std::string& refusal) {
  return plan_of_text(R"({"version": 1, "model": "tiny-mamba2", "settings": {
      "mamba_cache_mode": "align", "block_size": 4, "num_gpu_blocks_override": 9,
      "max_model_len": 256, "max_num_seqs": 8, "max_num_batched_tokens": 64,
      "async_scheduling": true, "kv_consumer": true, "acceptance_rate": 0,
      "speculative_config": {"num_speculative_tokens": 1},
      "policies": {"deferred_free_refusal": ")" +
                      refusal + R"("}}, "requests": [{"id": "A", "prompt": 5, "max_tokens": 12},
      {"id": "B", "prompt": 5, "max_tokens": 12}]})");
}

// Budgets of 4 tokens never reach the boundary of a block of 8.
RunPlan endless_request() {
  RunPlan plan = plan_of_text(R"({"version": 1, "model": "tiny-mamba2", "settings": {
      "mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 16,
      "max_model_len": 64, "async_scheduling": false, "max_num_batched_tokens": 8,
      "max_num_seqs": 4},
      "requests": [{"id": "A", "prompt": 20, "max_tokens": 2}]})");
  plan.setup.config.max_num_batched_tokens = 4;  // what no scenario may say
  return plan;
}

// A reset meets a frame in flight: the step after it takes the rejected drafts off the new run's
// count (known bug 17), and r1 keeps an output placeholder that no frame fills.
RunPlan hanging_request() {
  return plan_of_text(R"({"version": 1, "name": "hang", "model": "tiny-mamba2-groups", "settings": {
      "engine": "vllm-0.24.0", "runner": "v1", "mamba_cache_mode": "align", "seed": 403069118,
      "async_scheduling": true, "enable_prefix_caching": true, "block_size": 4,
      "speculative_config": {"method": "mtp", "num_speculative_tokens": 2},
      "acceptance_rate": 0.3, "max_num_seqs": 5, "scheduling_policy": "priority",
      "max_num_batched_tokens": 13, "max_model_len": 36, "prefix_cache_retention_interval": 0,
      "num_gpu_blocks_override": 22}, "requests": [
      {"id": "r0", "max_tokens": 3, "prompt": 1, "priority": 2},
      {"id": "r1", "max_tokens": 7, "priority": -2,
       "prompt": {"tokens": 8, "share": "sys", "share_tokens": 4}},
      {"id": "r2", "max_tokens": 5, "priority": 1, "at_step": 10,
       "prompt": {"tokens": 9, "share": "r1", "share_tokens": 5}},
      {"id": "r3", "max_tokens": 2, "prompt": 3, "priority": 0, "cache_salt": 1, "at_step": 15},
      {"id": "r4", "max_tokens": 1, "prompt": 5, "priority": 1, "at_step": 17},
      {"id": "r5", "max_tokens": 7, "priority": -2, "at_step": 26,
       "prompt": {"tokens": 4, "share": "r0", "share_tokens": 2}}],
      "script": [{"step": 3, "budget": 2}, {"step": 9, "reset_prefix_cache": {"running": true}},
                 {"step": 13, "budget": 5}, {"step": 18, "budget": 5},
                 {"step": 19, "budget": 6}]})");
}

CheckedRun run_of(RunPlan plan, CheckedRunOptions options = {}) {
  return CheckedRun::create(std::move(plan), std::move(options)).value();
}

struct Ended {
  EndReason end = EndReason::none;
  std::int64_t last_step = 0;
  std::vector<std::int64_t> steps_with_findings;
  friend bool operator==(const Ended&, const Ended&) = default;
};

Ended run_to_the_end(CheckedRun run) {
  Ended ended;
  while (!run.has_ended()) {
    const CheckedStep step = run.step().value();
    ended.last_step = step.trace.step;
    if (!step.findings.empty()) ended.steps_with_findings.push_back(step.trace.step);
  }
  ended.end = run.end();
  return ended;
}

Ended unchecked(RunPlan plan) { return run_to_the_end(run_of(plan, {.check = std::nullopt})); }

TEST(CheckedRun, EndsWhenEverythingInThePlanHasHappened) {
  CheckedRun run = run_of(two_requests());
  EXPECT_EQ(run.end(), EndReason::none);
  for (int step = 1; step <= 4; ++step) {
    EXPECT_FALSE(run.has_ended());
    EXPECT_EQ(run.step().value().trace.step, step);
  }
  EXPECT_EQ(run.end(), EndReason::finished);
  EXPECT_EQ(run.num_steps(), 4);
}

TEST(CheckedRun, EndsWithTheStepThatSchedulesNothingThoughNothingIsToCome) {
  EXPECT_EQ(run_to_the_end(run_of(endless_request())), (Ended{EndReason::no_progress, 1, {1}}));
  EXPECT_EQ(unchecked(endless_request()), (Ended{EndReason::no_progress, 1, {}}));
}

TEST(CheckedRun, EndsWhenRequestsPreemptEachOtherForEver) {
  const Ended ended = run_to_the_end(run_of(crowded_requests("preempt_on")));
  EXPECT_EQ(ended.end, EndReason::no_progress);
  EXPECT_EQ(ended.last_step, 80);
  EXPECT_EQ(unchecked(crowded_requests("preempt_on")), (Ended{EndReason::no_progress, 80, {}}));
}

// The scheduler of vLLM 0.24.0, given the same samples, schedules the same tokens in each of these
// steps; 600 steps later r1 still runs with its placeholder, and r2, r4 and r5 are not done.
TEST(CheckedRun, EndsWhereAReleaseHangsForEver) {
  CheckedRun run = run_of(hanging_request());
  const StepTrace* last = nullptr;
  while (!run.has_ended()) last = &run.step().value().trace;
  EXPECT_EQ(run.end(), EndReason::no_progress);
  EXPECT_EQ(run.num_steps(), 201);
  EXPECT_EQ(last->num_unfinished, 4);
}

TEST(CheckedRun, RequestsThatWaitForTheFrameGetToTheirEnd) {
  EXPECT_EQ(unchecked(crowded_requests("wait_for_the_frame")).end, EndReason::finished);
}

TEST(CheckedRun, EndsAtTheStepLimit) {
  EXPECT_EQ(run_to_the_end(run_of(two_requests(), {.max_steps = 3})),
            (Ended{EndReason::step_limit, 3, {}}));
  EXPECT_EQ(run_to_the_end(run_of(two_requests(), {.max_steps = 4})),
            (Ended{EndReason::finished, 4, {}}));
}

// Block sizes are known only once the engine is set up.
TEST(CheckedRun, WhatTheEngineRefusesIsAnErrorOfTheScenariosFile) {
  const auto plan =
      plan_scenario(parse_scenario({R"({"version": 1, "model": "tiny-mamba2", "settings": {
      "mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 32,
      "prefix_cache_retention_interval": 3}, "requests": [{"id": "A", "prompt": 5}]})",
                                    "test.json"})
                        .value(),
                    "test.json");
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().message,
            "test.json: prefix_cache_retention_interval 3 is not a multiple of "
            "scheduler_block_size 8 (expected one, or 0)");
}

TEST(CheckedRun, ShippedScenariosComeToTheirEndWithAndWithoutChecks) {
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios")) {
    if (entry.path().extension() != ".json") continue;
    const std::string file = entry.path().string();
    const RunPlan plan = plan_scenario(read_scenario_file(file).value(), file).value();
    const Ended checked = run_to_the_end(run_of(plan));
    EXPECT_EQ(checked.end, EndReason::finished) << file;
    EXPECT_EQ(unchecked(plan).last_step, checked.last_step) << file;
  }
}

TEST(CheckedRun, StepsComeWithTheirWritesWhenTheseAreLogged) {
  CheckedRun silent = run_of(two_requests());
  EXPECT_THAT(silent.step().value().writes, IsEmpty());
  CheckedRun run = run_of(two_requests());
  run.log_writes();
  EXPECT_THAT(run.step().value().writes, Not(IsEmpty()));
}

TEST(CheckedRun, ACopyGoesOnByItself) {
  CheckedRun run = run_of(two_requests());
  (void)run.step().value();
  CheckedRun copy = run.clone();
  EXPECT_EQ(copy.num_steps(), 1);
  EXPECT_EQ(run_to_the_end(std::move(copy)), (Ended{EndReason::finished, 4, {}}));
  EXPECT_EQ(run.num_steps(), 1);
  EXPECT_EQ(run.step().value().trace.step, 2);
}

TEST(CheckedRun, ACopyKnowsThatTheRunHasEnded) {
  CheckedRun run = run_of(endless_request());
  (void)run.step().value();
  EXPECT_EQ(run.clone().end(), EndReason::no_progress);
  CheckedRun limited = run_of(two_requests(), {.max_steps = 1});
  (void)limited.step().value();
  EXPECT_EQ(limited.clone().end(), EndReason::step_limit);
}

TEST(CheckedRun, GoesOnByAPlanWithMoreToCome) {
  CheckedRun run = run_of(two_requests());
  while (!run.has_ended()) (void)run.step().value();
  RunPlan longer = two_requests();
  ArrivingRequest late = longer.requests.back();
  late.request.name = "C";
  late.at_step = 9;
  longer.requests.push_back(late);
  run.follow(std::make_shared<const RunPlan>(longer));
  EXPECT_EQ(run.end(), EndReason::none);
  EXPECT_EQ(run.step().value().trace.step, 9);
}

using testing::ElementsAre;

// Steps 1 to 6.
CheckedRun six_steps() {
  const Scenario scenario =
      read_scenario_file(HYBRIDSCOPE_SOURCE_DIR "/scenarios/align_boundary_by_decode.json").value();
  return CheckedRun::create(plan_scenario(scenario, "align_boundary_by_decode.json").value(),
                            {.max_steps = 6})
      .value();
}

class Drive : public testing::Test {
 protected:
  // Notes each step as "NAME STEP", then does as `does` says.
  template <class Does>
  auto noting(const std::string& name, Does does) {
    return SinkOf([this, name, does](const CheckedStep& step) {
      seen_.push_back(name + " " + std::to_string(step.trace.step));
      return does(step.trace.step);
    });
  }
  auto noting(const std::string& name) {
    return noting(name, [](std::int64_t) { return Going::on; });
  }

  CheckedRun run_ = six_steps();
  std::vector<std::string> seen_;
};

TEST_F(Drive, EachStepReachesAllSinksInTheirOrder) {
  auto a = noting("a");
  auto b = noting("b");
  StepSink* const sinks[] = {&a, &b};
  EXPECT_EQ(drive(run_, sinks).value(), Going::on);
  EXPECT_EQ(run_.num_steps(), 6);
  EXPECT_EQ(seen_.size(), 12u);
  seen_.resize(4);
  EXPECT_THAT(seen_, ElementsAre("a 1", "b 1", "a 2", "b 2"));
}

TEST_F(Drive, ASinkThatWantsNoMoreEndsItBehindThatStep) {
  auto a = noting("a", [](std::int64_t step) { return step < 2 ? Going::on : Going::stop; });
  auto b = noting("b");
  StepSink* const sinks[] = {&a, &b};
  EXPECT_EQ(drive(run_, sinks).value(), Going::stop);
  EXPECT_THAT(seen_, ElementsAre("a 1", "b 1", "a 2", "b 2"));
}

TEST_F(Drive, GoesOnWhereItStopped) {
  auto two = noting("a", [](std::int64_t step) { return step < 2 ? Going::on : Going::stop; });
  StepSink* const first[] = {&two};
  EXPECT_EQ(drive(run_, first).value(), Going::stop);
  auto rest = noting("b");
  StepSink* const then[] = {&rest};
  EXPECT_EQ(drive(run_, then).value(), Going::on);
  EXPECT_THAT(seen_, ElementsAre("a 1", "a 2", "b 3", "b 4", "b 5", "b 6"));
}

TEST_F(Drive, AsksBeforeEachStepWhetherToStop) {
  const auto driven = drive(
      run_, [this](const CheckedStep& step) { seen_.push_back(std::to_string(step.trace.step)); },
      [this] { return seen_.size() == 3; });
  EXPECT_EQ(driven.value(), Going::stop);
  EXPECT_THAT(seen_, ElementsAre("1", "2", "3"));
}

TEST_F(Drive, AStepThatASinkRefusedReachesNoneBehindIt) {
  SinkOf refusing([](const CheckedStep& step) {
    return step.trace.step == 2 ? Status(invalid_input("the disk is full")) : Status(Ok{});
  });
  auto behind = noting("b");
  StepSink* const sinks[] = {&refusing, &behind};
  const auto driven = drive(run_, sinks);
  EXPECT_EQ(driven.error().message, "the disk is full");
  EXPECT_EQ(driven.refused_by, &refusing);
  EXPECT_THAT(seen_, ElementsAre("b 1"));
}

TEST_F(Drive, WritesAreThereWhenOneSinkWantsThem) {
  std::size_t num_writes = 0;
  SinkOf counting([&](const CheckedStep& step) { num_writes += step.writes.size(); });
  SinkOf wanting([](const CheckedStep&) { return Going::stop; }, true);
  StepSink* const sinks[] = {&counting};
  EXPECT_EQ(drive(run_, sinks).value(), Going::on);
  EXPECT_EQ(num_writes, 0u);
  run_ = six_steps();
  StepSink* const both[] = {&counting, &wanting};
  EXPECT_EQ(drive(run_, both).value(), Going::stop);
  EXPECT_GT(num_writes, 0u);
}

// A trace of two steps: that it has no more shows only when a third one is asked for.
class TwoSteps final : public JudgedSteps {
 public:
  void log_writes() override {}
  bool has_ended() const override { return false; }
  Result<std::optional<CheckedStep>> next() override {
    if (trace_.step == 2) return std::optional<CheckedStep>();
    ++trace_.step;
    return std::optional(CheckedStep{.trace = trace_, .findings = {}, .writes = {}});
  }

 private:
  StepTrace trace_ = {};
};

TEST_F(Drive, StepsOfATraceEndWhereNoneComes) {
  TwoSteps trace;
  auto a = noting("a");
  StepSink* const sinks[] = {&a};
  EXPECT_EQ(drive(trace, sinks).value(), Going::on);
  EXPECT_THAT(seen_, ElementsAre("a 1", "a 2"));
}

}  // namespace

}  // namespace hybridscope::checked_run_test
