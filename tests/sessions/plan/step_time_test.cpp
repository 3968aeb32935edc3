#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/fingerprint.h"
#include "sessions/judge/trace_writer.h"
#include "sessions/plan/plan_run.h"
#include "sessions/plan/recorded_steps.h"
#include "sessions/plan/step_time_fit.h"
#include "sessions/run/runner.h"
#include "sessions/scenario/scenario_reader.h"

namespace hybridscope::test::step_time_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(StepTime, IsASumInMicrosecondsOrWithUnits) {
  EXPECT_EQ(parse_step_time("20000 + 30*prefill + 60*decode + 0.0002*copied_bytes").value(),
            (StepTime{20000, 30, 60, 0.0002}));
  EXPECT_EQ(parse_step_time("20ms+30us*prefill + 500ns * decode").value(),
            (StepTime{20000, 30, 0.5, 0}));
  EXPECT_EQ(parse_step_time("30*prefill").value(), (StepTime{0, 30, 0, 0}));
  const StepTime time{20000, 30, 0.5, 0.0002};
  EXPECT_EQ(parse_step_time(step_time_text(time)).value(), time);
}

TEST(StepTime, WhatIsNoTermIsNamed) {
  for (const char* text :
       {"", "fast", "-1", "20000 + ", "30*prompt", "30*", "30prefill", "nan", "1e999", "3 days"})
    EXPECT_THAT(parse_step_time(text).error().message, HasSubstr("is no term")) << text;
  EXPECT_THAT(parse_step_time("1*decode + 2*decode").error().message,
              HasSubstr("two terms of decode"));
}

TEST(StepTime, AFileHasOneSumBesideItsComments) {
  const auto file = [](const std::string& text) {
    const std::string path = testing::TempDir() + "/hybridscope_step_time.txt";
    std::ofstream(path) << text;
    return read_step_time_file(path);
  };
  EXPECT_EQ(file("# fitted\n\n8000 + 25*prefill\r\n").value(), (StepTime{8000, 25, 0, 0}));
  EXPECT_THAT(file("# fitted\n8000 + fast\n").error().message,
              HasSubstr("hybridscope_step_time.txt:2: step time: \"fast\" is no term"));
  EXPECT_THAT(file("8000\n9000\n").error().message, HasSubstr(".txt:2: a second step time"));
  EXPECT_THAT(file("# nothing\n").error().message, HasSubstr(".txt: no step time"));
  EXPECT_EQ(file("9000 fast").error().kind, ErrorKind::corrupt);
  EXPECT_EQ(read_step_time_file("no/such/file").error().kind, ErrorKind::io);
}

// A prompt of 10 tokens in chunks of 8, then two tokens.
TEST(StepTime, AStepTakesWhatItsTokensAndCopiesTake) {
  const std::string text =
      R"({"version": 1, "name": "n", "teaches": "t", "model": "tiny-gdn",
          "settings": {"mamba_cache_mode": "none", "num_gpu_blocks_override": 32,
                       "max_model_len": 64, "max_num_batched_tokens": 8,
                       "async_scheduling": false},
          "requests": [{"id": "A", "prompt": 10, "max_tokens": 3}]})";
  RunPlan plan = plan_scenario(parse_scenario({text, "test.json"}).value(), "test.json").value();
  plan.step_clock = make_step_clock({1000, 10, 7, 0}, plan.setup.config);
  Runner runner = Runner::create(std::move(plan)).value();
  std::vector<std::int64_t> durations;
  while (!runner.done()) durations.push_back(runner.step().value()->duration_us);
  EXPECT_THAT(durations, ElementsAre(1080, 1020, 1007, 1007));
  EXPECT_EQ(runner.engine().now_us(), 4114);
}

TEST(DurationCounts, PercentilesAreExactToASixtyFourth) {
  DurationCounts counts;
  for (std::int64_t us = 1; us <= 100; ++us) counts.add(us);
  EXPECT_EQ(counts.percentile(50), 50);
  EXPECT_EQ(counts.percentile(99), 99);
  EXPECT_EQ(counts.percentile(100), 100);
  DurationCounts large;
  large.add(1'000'003);
  EXPECT_LE(large.percentile(50), 1'000'003);
  EXPECT_GT(large.percentile(50), 1'000'003 - 1'000'003 / 64);
  EXPECT_EQ(DurationCounts().percentile(50), 0);
}

// Two requests, one at a time: the second one waits for the first.
TEST(PlanLatency, TimesAreCountedFromArrivals) {
  Traffic traffic;
  for (const char* name : {"A", "B"})
    traffic.requests.push_back(
        {.arrival_us = 500,
         .request = {.name = name, .prompt = {{.content = 7, .length = 10}}, .max_tokens = 3}});
  PlanTraffic shared("two", std::move(traffic), 0, 1);
  EngineSettings base;
  base.max_num_seqs = 1;
  base.async_scheduling = false;
  base.num_gpu_blocks_override = 32;
  const Sweep sweep = Sweep::create(base, {}).value();
  const PlanResult result =
      run_plan_case(sweep, sweep.at(0), shared, {.model = "tiny-gdn", .step_time = StepTime{1000}})
          .value()
          .value();
  ASSERT_TRUE(result.ran()) << result.refused;
  const PlanLatency& latency = result.figures.latency;
  EXPECT_EQ(latency.span_us, 6000);  // three steps each
  EXPECT_EQ(latency.queue, (LongestQueue{.at = 0, .empty = 3000}));
  EXPECT_EQ(latency.first_token.p50_us, 1000);
  EXPECT_EQ(latency.first_token.p99_us, 4000);
  EXPECT_EQ(latency.between_tokens.p99_us, 1000);
  EXPECT_DOUBLE_EQ(result.figures.throughput(), 1000.0);  // 6 tokens in 6 ms
}

using testing::IsEmpty;

constexpr std::array kAll = {true, true, true, true};
constexpr std::array kNoCopies = {true, true, true, false};

// Prefills of 512 and 2,048 tokens beside decodes, then decodes of 1 to 16 requests.
std::vector<TimedStep> works() {
  std::vector<TimedStep> steps;
  for (const std::int64_t prefill : {512, 2048, 512, 1024})
    for (const std::int64_t decode : {0, 4, 9})
      steps.push_back({.work = {prefill, decode, prefill == 512 ? 5'000'000 : 0}});
  for (std::int64_t decode = 1; decode <= 16; ++decode)
    steps.push_back({.work = {0, decode, decode % 5 == 0 ? 2'000'000 : 0}});
  return steps;
}

// The same with times by this formula, in whole microseconds.
std::vector<TimedStep> timed(const StepTime& time) {
  std::vector<TimedStep> steps = works();
  for (TimedStep& step : steps) step.time_us = static_cast<std::int64_t>(time.of(step.work) + 0.5);
  return steps;
}

std::array<TermFit, 4> fits(const StepTimeFit& fit) {
  return {fit.terms[0].fit, fit.terms[1].fit, fit.terms[2].fit, fit.terms[3].fit};
}

TEST(StepTimeFit, FindsTheConstantsOfStepsThatFollowAFormula) {
  const StepTimeFit fit = fit_step_time(timed({8000, 25, 60, 0.0002}), kAll).value();
  EXPECT_EQ(fit.time, (StepTime{8000, 25, 60, 0.0002}));
  EXPECT_EQ(fit.num_steps, 28);
  EXPECT_THAT(fit.left_out, IsEmpty());
  EXPECT_EQ(fit.p90_error, 0);
  EXPECT_EQ(fit.r_squared, 1);
}

TEST(StepTimeFit, AFractionOfAMicrosecondATokenIsFoundFromWholeMicroseconds) {
  const StepTimeFit fit = fit_step_time(timed({812, 0.75, 30.5, 0}), kNoCopies).value();
  EXPECT_NEAR(fit.time.base_us, 812, 1);
  EXPECT_NEAR(fit.time.prefill_us, 0.75, 0.001);
  EXPECT_NEAR(fit.time.decode_us, 30.5, 0.1);
  EXPECT_GT(fit.terms[1].standard_error_us, 0);
}

// Two steps of 8 ms and a step with a prompt, of which only the sum is known.
TEST(StepTimeFit, StepsThatAreTimedTogetherCountEach) {
  std::vector<TimedStep> steps = timed({8000, 25, 60, 0.0002});
  steps.push_back({.work = {2000, 8, 0}, .time_us = 3 * 8000 + 25 * 2000 + 60 * 8, .num_steps = 3});
  const StepTimeFit fit = fit_step_time(steps, kAll).value();
  EXPECT_EQ(fit.time, (StepTime{8000, 25, 60, 0.0002}));
  EXPECT_EQ(fit.num_steps, 31);
  EXPECT_EQ(time_by(fit.time, steps.back()), 74'480);
}

// Up to 10 % more or less, by a fixed sequence.
TEST(StepTimeFit, NoiseMovesTheConstantsLessThanItself) {
  std::vector<TimedStep> steps;
  for (std::uint64_t round = 0; round < 40; ++round)
    for (const TimedStep& step : timed({8000, 25, 60, 0.0002})) {
      const auto noise = static_cast<double>(mix(round, steps.size()) % 2001) / 1000 - 1;
      steps.push_back(step);
      steps.back().time_us +=
          static_cast<std::int64_t>(0.1 * noise * static_cast<double>(step.time_us));
    }
  const StepTimeFit fit = fit_step_time(steps, kAll).value();
  EXPECT_NEAR(fit.time.base_us, 8000, 400);
  EXPECT_NEAR(fit.time.prefill_us, 25, 0.5);
  EXPECT_NEAR(fit.time.decode_us, 60, 30);
  EXPECT_NEAR(fit.median_error, 0.05, 0.01);
  EXPECT_NEAR(fit.p90_error, 0.09, 0.01);
  EXPECT_GT(fit.r_squared, 0.95);
  EXPECT_THAT(fit.left_out, IsEmpty());
}

// The first prefill and the first decode compile for seconds; a decode takes four times as long.
TEST(StepTimeFit, StepsThatTakeMoreThanThreeTimesAsLongAreLeftOut) {
  std::vector<TimedStep> steps = timed({8000, 25, 60, 0.0002});
  steps[0].time_us = 21'000'000;
  steps[12].time_us = 4'000'000;
  steps[20].time_us *= 4;
  steps[24].time_us *= 2;  // stays
  const StepTimeFit fit = fit_step_time(steps, kAll).value();
  EXPECT_THAT(fit.left_out, ElementsAre(0, 12, 20));
  EXPECT_EQ(fit.num_steps, 25);
  steps[24].time_us /= 2;
  EXPECT_EQ(fit_step_time(steps, kAll).value().time, (StepTime{8000, 25, 60, 0.0002}));
}

TEST(StepTimeFit, ATermThatWouldBeNegativeIsZero) {
  std::vector<TimedStep> steps = works();
  for (TimedStep& step : steps) step.time_us = 9000 - 50 * step.work.decode;
  const StepTimeFit fit = fit_step_time(steps, kNoCopies).value();
  EXPECT_EQ(fit.time.decode_us, 0);
  EXPECT_EQ(fit.terms[2].fit, TermFit::at_zero);
  EXPECT_EQ(fit.terms[0].fit, TermFit::fitted);
  EXPECT_GE(fit.time.prefill_us, 0);
}

TEST(StepTimeFit, ATermThatNoStepHasIsNotKnown) {
  std::vector<TimedStep> steps = timed({8000, 0, 60, 0});
  steps.erase(steps.begin(), steps.begin() + 12);
  for (TimedStep& step : steps) step.work.copied_bytes = 0;
  const StepTimeFit fit = fit_step_time(steps, kAll).value();
  EXPECT_EQ(fit.time, (StepTime{8000, 0, 60, 0}));
  EXPECT_THAT(fits(fit), ElementsAre(TermFit::fitted, TermFit::never_seen, TermFit::fitted,
                                     TermFit::never_seen));
}

TEST(StepTimeFit, ATermThatIsNotWantedIsNotThere) {
  const StepTimeFit fit = fit_step_time(timed({0, 25, 60, 0}), {false, true, true, false}).value();
  EXPECT_EQ(fit.time, (StepTime{0, 25, 60, 0}));
  EXPECT_EQ(fit.terms[0].fit, TermFit::not_wanted);
}

TEST(StepTimeFit, WhatCannotBeToldApartIsNamed) {
  std::vector<TimedStep> steps = timed({8000, 25, 60, 0.0002});
  for (TimedStep& step : steps) step.work.decode = 16;
  EXPECT_EQ(fit_step_time(steps, kAll).error().message,
            "the number of tokens of decodes is the same in every step, so that their times cannot "
            "be told apart; record other mixes of requests, or leave one of the terms out "
            "(--without)");
  EXPECT_TRUE(fit_step_time(steps, {false, true, true, true}).ok());
  for (TimedStep& step : steps) step.work.copied_bytes = 1000 * step.work.prefill;
  for (std::size_t i = 0; i < steps.size(); ++i)
    steps[i].work.decode = static_cast<std::int64_t>(i % 7);
  EXPECT_THAT(fit_step_time(steps, kAll).error().message,
              HasSubstr("copied bytes follows from tokens of prefills in every step"));
  for (TimedStep& step : steps) step.work.decode = step.work.prefill / 512 + 3;
  EXPECT_THAT(fit_step_time(steps, kNoCopies).error().message,
              HasSubstr("tokens of decodes follows from the base and tokens of prefills in every"));
}

TEST(StepTimeFit, AFewStepsAreTooFew) {
  std::vector<TimedStep> steps = timed({8000, 25, 60, 0.0002});
  steps.resize(9);
  EXPECT_EQ(fit_step_time(steps, kAll).error().message,
            "9 steps with a time, expected at least 10");
  EXPECT_THAT(fit_step_time({}, kAll).error().message, HasSubstr("0 steps with a time"));
}

TEST(StepTimeFit, StepsOfNoTimeHaveNoFormulaButZero) {
  const StepTimeFit fit = fit_step_time(timed({0, 0, 0, 0}), kNoCopies).value();
  EXPECT_LE(fit.time.base_us, 1);
  EXPECT_EQ(fit.time.prefill_us, 0);
  EXPECT_EQ(fit.r_squared, std::nullopt);
}

// Traces of our own runs under a clock with known constants, read back.

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

}  // namespace hybridscope::test::step_time_test
