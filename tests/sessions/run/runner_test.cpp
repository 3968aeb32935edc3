#include "sessions/run/runner.h"

#include <gmock/gmock.h>

#include "sessions/run/run_summary.h"
#include "sessions/scenario/scenario_reader.h"

namespace hybridscope::runner_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

RunPlan plan_of(const std::string& requests, const std::string& rest = "",
                const std::string& async_scheduling = "false") {
  const std::string text =
      R"({"version": 1, "name": "n", "teaches": "t", "model": "tiny-mamba2",
          "settings": {"mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 32,
                       "max_model_len": 64, "step_cost": {"base_us": 1000, "per_token_us": 0},
                       "async_scheduling": )" +
      async_scheduling + R"(}, "requests": [)" + requests + "]" + rest + "}";
  return plan_scenario(parse_scenario({text, "test.json"}).value(), "test.json").value();
}

// Requests of each step: "A", "A B", "".
std::vector<std::string> steps_of(RunPlan plan) {
  Runner runner = Runner::create(std::move(plan)).value();
  std::vector<std::string> steps;
  while (!runner.done() && steps.size() < 50) {
    const StepTrace& trace = *runner.step().value();
    std::string names;
    for (const ScheduledTrace& scheduled : trace.scheduled)
      names += (names.empty() ? "" : " ") + runner.engine().name_of(scheduled.request);
    steps.push_back(std::to_string(trace.step) + ": " + names);
  }
  return steps;
}

TEST(Runner, RequestsJoinBeforeTheirStep) {
  EXPECT_THAT(steps_of(plan_of(R"({"id": "A", "prompt": 4, "max_tokens": 3},
                                  {"id": "B", "prompt": 4, "max_tokens": 1, "at_step": 3})")),
              ElementsAre("1: A", "2: A", "3: A B"));
}

TEST(Runner, IdleStepsAreLeftOut) {
  EXPECT_THAT(steps_of(plan_of(R"({"id": "A", "prompt": 4, "max_tokens": 1},
                                  {"id": "B", "prompt": 4, "max_tokens": 1, "at_step": 900})")),
              ElementsAre("1: A", "900: B"));
}

// A frame in flight returns in a separate step.
TEST(Runner, AsynchronouslyTheLastFrameReturnsBeforeStepsAreLeftOut) {
  EXPECT_THAT(steps_of(plan_of(R"({"id": "A", "prompt": 4, "max_tokens": 1},
                                  {"id": "B", "prompt": 4, "max_tokens": 1, "at_step": 900})",
                               "", "true")),
              ElementsAre("1: A", "2: ", "900: B", "901: "));
}

TEST(Runner, TimeJumpsToTheNextArrivalWhenNothingRuns) {
  RunPlan plan = plan_of(R"({"id": "A", "prompt": 4, "max_tokens": 1},
                            {"id": "B", "prompt": 4, "max_tokens": 1, "arrival_us": 500000})");
  Runner runner = Runner::create(std::move(plan)).value();
  ASSERT_TRUE(runner.step().ok());
  EXPECT_EQ(runner.step().value()->time_us, 500000);
  EXPECT_TRUE(runner.done());
}

TEST(Runner, ALateArrivalDoesNotHoldBackRequestsOfLaterSteps) {
  EXPECT_THAT(steps_of(plan_of(R"({"id": "A", "prompt": 4, "max_tokens": 4},
                          {"id": "late", "prompt": 4, "max_tokens": 1, "arrival_us": 1000000},
                          {"id": "B", "prompt": 4, "max_tokens": 1, "at_step": 2})")),
              ElementsAre("1: A", "2: A B", "3: A", "4: A", "5: late"));
}

TEST(Runner, ScriptedBudgetIsForItsStepOnly) {
  EXPECT_THAT(steps_of(plan_of(R"({"id": "A", "prompt": 4, "max_tokens": 4},
                                  {"id": "B", "prompt": 4, "max_tokens": 4})",
                               R"(, "script": [{"step": 2, "budget": 1}])")),
              ElementsAre("1: A B", "2: A", "3: A B", "4: A B", "5: B"));
}

TEST(RunPlan, TrafficRaisesMaxModelLenForItsLongestRequestAndSaysSo) {
  Traffic traffic;
  ArrivingRequest arriving;
  arriving.request = {.name = "r1", .prompt = {{.length = 9000}}, .max_tokens = 10, .key = 1};
  traffic.requests.push_back(arriving);
  const RunPlan plan =
      plan_traffic(traffic, {.name = "t", .model = "nemotron-h-8b", .settings = {}}).value();
  EXPECT_EQ(plan.setup.config.max_model_len, 9011);
  EXPECT_THAT(plan.notes, ElementsAre(HasSubstr("from 8192 to 9011")));
}

TEST(RunPlan, LimitTakesTheFirstRequests) {
  Traffic traffic;
  for (int i = 0; i < 5; ++i) {
    ArrivingRequest arriving;
    arriving.request = {.name = "r", .prompt = {{.length = 8}}, .max_tokens = 1};
    traffic.requests.push_back(arriving);
  }
  EXPECT_EQ(plan_traffic(traffic, {.name = "t", .model = "tiny-mamba2", .settings = {}, .limit = 2})
                .value()
                .requests.size(),
            2u);
}

TEST(RunSummary, CopyBytesLeaveOutTheShiftedConvPositionsOnly) {
  EngineConfig config;
  config.conv_kernel = 4;
  config.num_speculative_tokens = 1;
  config.kv_cache_config.num_blocks = 8;
  MambaSpec mamba;
  mamba.states = {{StateKind::conv, {4, 10}, Dtype::bfloat16},
                  {StateKind::temporal, {2, 3, 5}, Dtype::float32}};
  config.kv_cache_config.groups.push_back({.spec = mamba, .layers = {0, 1, 2}});
  const SummaryBuilder summary(config);
  // Three layers: temporal 2*3*5*4 = 120 bytes, conv 4 positions of 20 bytes.
  EXPECT_EQ(summary.copy_bytes(0, 0), 3 * (120 + 80));
  EXPECT_EQ(summary.copy_bytes(0, 1), 3 * (120 + 60));
}

TEST(ExpectationCheck, MatchesByRuleStepAndRequest) {
  Expectation expectation;
  expectation.findings = {{.rule = "label-mismatch", .step = 3, .request = "A"}};
  ExpectationCheck check(expectation);
  Names names{.request = [](RequestId id) { return id.value == 0 ? "A" : "B"; }, .group = {}};
  Finding finding;
  finding.rule = Rule::label_mismatch;
  finding.step = 3;
  finding.request = {1};
  EXPECT_FALSE(check.expects(finding, names));
  EXPECT_THAT(check.unmet({}), ElementsAre(HasSubstr("label-mismatch at step 3 of request A")));
  finding.request = {0};
  EXPECT_TRUE(check.expects(finding, names));
  EXPECT_TRUE(check.unmet({}).empty());
}

TEST(ExpectationCheck, CountsOfStepsAndFinishedRequestsAreHeldAgainstTheSummary) {
  Expectation expectation;
  expectation.steps = 4;
  expectation.finished = 2;
  RunSummary summary;
  summary.steps = 5;
  summary.requests_finished = 2;
  EXPECT_THAT(ExpectationCheck(expectation).unmet(summary),
              ElementsAre("expected 4 steps, the run took 5"));
}

}  // namespace
}  // namespace hybridscope::runner_test
