#include "sessions/plan/step_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "sessions/plan/plan_run.h"
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
  EXPECT_EQ(latency.first_token.p50_us, 1000);
  EXPECT_EQ(latency.first_token.p99_us, 4000);
  EXPECT_EQ(latency.between_tokens.p99_us, 1000);
  EXPECT_DOUBLE_EQ(result.figures.throughput(), 1000.0);  // 6 tokens in 6 ms
}

}  // namespace
}  // namespace hybridscope::test::step_time_test
