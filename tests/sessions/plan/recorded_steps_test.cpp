// Traces of our own runs under a clock with known constants, read back.
#include "sessions/plan/recorded_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sessions/judge/trace_writer.h"
#include "sessions/run/runner.h"
#include "sessions/scenario/scenario_reader.h"

namespace hybridscope::test::recorded_steps_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Blocks of 128 tokens. A's prompt of 300 runs in chunks of 256 and 44; B and C come beside
// decodes.
std::string scenario(bool async_scheduling) {
  return std::string(R"({"version": 1, "name": "n", "teaches": "t", "model": "tiny-gdn",
        "settings": {"mamba_cache_mode": "align", "num_gpu_blocks_override": 64,
                     "max_model_len": 512, "max_num_batched_tokens": 256, "async_scheduling": )") +
         (async_scheduling ? "true" : "false") + R"(},
        "requests": [{"id": "A", "prompt": 300, "max_tokens": 100},
                     {"id": "B", "prompt": 140, "max_tokens": 30, "arrival_us": 4500},
                     {"id": "C", "prompt": 40, "max_tokens": 30, "arrival_us": 40000}]})";
}

// [header, step 1, ...] of the run, whose steps take what the formula says.
std::vector<std::string> traced(const StepTime& time, bool async_scheduling = false) {
  RunPlan plan =
      plan_scenario(parse_scenario({scenario(async_scheduling), "test.json"}).value(), "test.json")
          .value();
  plan.step_clock = make_step_clock(time, plan.setup.config);
  Runner runner = Runner::create(std::move(plan)).value();
  TraceWriter writer(runner.engine().config(), traced_requests_of(runner.engine()));
  std::vector<std::string> lines = {writer.header("n")};
  while (!runner.done()) lines.push_back(writer.step(*runner.step().value()));
  return lines;
}

// The first error, or "".
std::string read_into(RecordedSteps& recorded, const std::vector<std::string>& lines) {
  recorded.begin_file("t.jsonl");
  std::int64_t number = 0;
  for (const std::string& line : lines) {
    const std::string padded = line + std::string(kLinePadding, ' ');
    const Status taken = recorded.take({std::string_view(padded).substr(0, line.size())}, ++number);
    if (!taken.ok()) return taken.error().message;
  }
  return "";
}

TEST(RecordedSteps, TheClockOfARunIsFoundInItsTrace) {
  RecordedSteps recorded({.model = "tiny-gdn", .settings = {}});
  ASSERT_EQ(read_into(recorded, traced({8000, 25, 60, 0.5})), "");
  EXPECT_EQ(
      fit_step_time(timed_steps(recorded.steps()).steps, {true, true, true, true}).value().time,
      (StepTime{8000, 25, 60, 0.5}));
  EXPECT_TRUE(recorded.has_simulated());
}

TEST(RecordedSteps, AStepHasTheWorkOfItsRows) {
  RecordedSteps recorded({.model = {}, .settings = {}});
  std::vector<std::string> lines = traced({1000, 10, 7, 0});
  lines.resize(6);
  ASSERT_EQ(read_into(recorded, lines), "");
  std::vector<std::vector<std::int64_t>> steps;
  for (const RecordedStep& step : recorded.steps())
    steps.push_back({step.work.prefill, step.work.decode, step.time_us.value()});
  EXPECT_THAT(steps, ElementsAre(ElementsAre(256, 0, 3560), ElementsAre(44, 0, 1440),
                                 ElementsAre(128, 1, 2287), ElementsAre(12, 1, 1127),
                                 ElementsAre(0, 2, 1014)));
  EXPECT_EQ(recorded.steps()[2].line, 4);
  EXPECT_EQ(recorded.steps()[2].step, 3);
  EXPECT_EQ(recorded.steps()[2].file, "t.jsonl");
}

std::vector<std::size_t> sizes_of(const TimedSteps& timed) {
  std::vector<std::size_t> sizes;
  for (const TimedStep& step : timed.steps)
    sizes.push_back(static_cast<std::size_t>(step.num_steps));
  return sizes;
}

// Steps 1 to 4 run prompts, step 5 does not.
TEST(RecordedSteps, FramesInFlightWithPromptsAreTimedWithTheOneBefore) {
  RecordedSteps recorded({.model = {}, .settings = {}});
  std::vector<std::string> lines = traced({1000, 10, 7, 0}, true);
  lines.resize(9);
  ASSERT_EQ(read_into(recorded, lines), "");
  EXPECT_TRUE(recorded.has_async());
  EXPECT_FALSE(recorded.steps()[0].reaches_back);  // nothing is before it
  EXPECT_TRUE(recorded.steps()[1].reaches_back);
  const TimedSteps timed = timed_steps(recorded.steps());
  EXPECT_EQ(timed.steps[0].work, (StepWork{440, 2, 0}));
  EXPECT_THAT(sizes_of(timed), ElementsAre(4, 1, 1, 1, 1));
  EXPECT_THAT(timed.first, ElementsAre(0, 4, 5, 6, 7));

  RecordedSteps synchronous({.model = {}, .settings = {}});
  ASSERT_EQ(read_into(synchronous, traced({1000, 10, 7, 0})), "");
  EXPECT_FALSE(synchronous.has_async());
  EXPECT_EQ(timed_steps(synchronous.steps()).steps.size(), synchronous.steps().size());
}

TEST(RecordedSteps, AtMostEightAreTimedTogetherAndNoneThatLacksATime) {
  std::vector<RecordedStep> recorded(
      20, {.work = {100, 0, 0}, .time_us = 5, .reaches_back = true, .file = {}});
  EXPECT_THAT(sizes_of(timed_steps(recorded)), ElementsAre(8, 8, 4));
  recorded[9].time_us.reset();
  const TimedSteps timed = timed_steps(recorded);
  EXPECT_THAT(sizes_of(timed), ElementsAre(8, 4));
  EXPECT_THAT(timed.first, ElementsAre(0, 16));
  EXPECT_EQ(timed.steps[1].time_us, 20);
  EXPECT_EQ(timed.steps[1].work, (StepWork{400, 0, 0}));
}

TEST(RecordedSteps, StepsWithoutTimeAndSkippedOnesAreCounted) {
  std::vector<std::string> lines = traced({1000, 10, 7, 0});
  nlohmann::json untimed = nlohmann::json::parse(lines[4]);
  untimed.erase("step_time_us");
  lines[4] = untimed.dump();
  RecordedSteps recorded({.model = {}, .settings = {}, .skip = 2});
  ASSERT_EQ(read_into(recorded, lines), "");
  ASSERT_EQ(read_into(recorded, lines), "");
  EXPECT_EQ(recorded.num_skipped(), 4);
  EXPECT_EQ(recorded.num_without_time(), 2);
  EXPECT_EQ(recorded.num_steps(), 2 * (std::ssize(lines) - 1));
  EXPECT_EQ(std::ssize(timed_steps(recorded.steps()).steps), recorded.num_steps() - 6);
}

TEST(RecordedSteps, AModelWithOtherGroupsIsRefused) {
  RecordedSteps recorded({.model = "nemotron-h-8b", .settings = {}});
  EXPECT_THAT(read_into(recorded, traced({1000, 10, 7, 0})),
              HasSubstr("t.jsonl:1: the trace has 2 recurrent groups, model "));
}

TEST(RecordedSteps, ALineThatIsNoStepNamesItsPlace) {
  RecordedSteps recorded({.model = {}, .settings = {}});
  EXPECT_THAT(read_into(recorded, {"{}"}), HasSubstr("t.jsonl:1: key \"hybridscope_trace\""));
}

}  // namespace
}  // namespace hybridscope::test::recorded_steps_test
