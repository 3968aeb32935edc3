#include "sessions/run/runner.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <map>
#include <numeric>
#include <random>

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

// "3000: A B": what joined before each step, and the time at which the step began.
std::string joined_in(const StepTrace& trace, const Engine& engine) {
  std::string names;
  for (const CommandTrace& command : trace.commands)
    if (command.command == CommandKind::add_request) names += " " + engine.name_of(command.request);
  return fmt::format("{} {}:{}", trace.step, trace.time_us, names);
}

// Only the steps in which somebody joined.
std::vector<std::string> joins_of(RunPlan plan) {
  Runner runner = Runner::create(std::move(plan)).value();
  std::vector<std::string> joins;
  for (int i = 0; i < 100 && !runner.done(); ++i) {
    const std::string line = joined_in(*runner.step().value(), runner.engine());
    if (!line.ends_with(':')) joins.push_back(line);
  }
  EXPECT_TRUE(runner.done());
  return joins;
}

constexpr const char* kTwo = R"({"id": "A", "prompt": 4, "max_tokens": 3},
                                {"id": "B", "prompt": 4, "max_tokens": 1})";

TEST(WaitingRequests, ARequestJoinsInTheStepAfterTheOtherHasEnded) {
  RunPlan plan = plan_of(kTwo);
  plan.requests[1].after = {"A"};
  EXPECT_THAT(joins_of(plan), ElementsAre("1 0: A", "4 3000: B"));
}

// The last token comes back one step later.
TEST(WaitingRequests, AsynchronouslyTheAnswerEndsWhenItsLastFrameReturns) {
  RunPlan plan = plan_of(kTwo, "", "true");
  plan.requests[1].after = {"A"};
  EXPECT_THAT(joins_of(plan), ElementsAre("1 0: A", "5 4000: B"));
}

TEST(WaitingRequests, TheDelayCountsFromTheEndAndTimeJumpsOverItWhenNothingRuns) {
  RunPlan plan = plan_of(kTwo);
  plan.requests[1].after = {"A"};
  plan.requests[1].delay_us = 70'500;
  EXPECT_THAT(joins_of(plan), ElementsAre("1 0: A", "4 73500: B"));
}

TEST(WaitingRequests, ARequestJoinsNeitherBeforeItsArrivalNorBeforeItsStep) {
  RunPlan plan = plan_of(kTwo);
  plan.requests[1].after = {"A"};
  plan.requests[1].arrival_us = 9'000;
  EXPECT_THAT(joins_of(plan), ElementsAre("1 0: A", "4 9000: B"));
  plan.requests[1].arrival_us = 0;
  plan.requests[1].at_step = 7;
  EXPECT_THAT(joins_of(plan), ElementsAre("1 0: A", "7 3000: B"));
}

TEST(WaitingRequests, WhoWaitsForSeveralWaitsForTheLastOfThem) {
  RunPlan plan = plan_of(R"({"id": "A", "prompt": 4, "max_tokens": 6},
                            {"id": "B", "prompt": 4, "max_tokens": 2},
                            {"id": "C", "prompt": 4, "max_tokens": 1})");
  plan.requests[2].after = {"A", "B"};
  EXPECT_THAT(joins_of(plan), ElementsAre("1 0: A B", "7 6000: C"));
}

TEST(WaitingRequests, AnAbortedRequestHasEnded) {
  RunPlan plan = plan_of(R"({"id": "A", "prompt": 4, "max_tokens": 40},
                            {"id": "B", "prompt": 4, "max_tokens": 1})",
                         R"(, "script": [{"step": 3, "abort": ["A"]}])");
  plan.requests[1].after = {"A"};
  plan.requests[1].delay_us = 1'500;  // from 2000 on, where step 3 begins
  EXPECT_THAT(joins_of(plan), ElementsAre("1 0: A", "4 3500: B"));
}

TEST(WaitingRequests, ThoseThatAreDueInOneStepJoinInTheOrderInWhichTheyBecameDue) {
  RunPlan plan = plan_of(R"({"id": "A", "prompt": 4, "max_tokens": 2},
                            {"id": "late", "prompt": 4, "max_tokens": 1},
                            {"id": "soon", "prompt": 4, "max_tokens": 1},
                            {"id": "own", "prompt": 4, "max_tokens": 1, "arrival_us": 2400},
                            {"id": "busy", "prompt": 4, "max_tokens": 9, "arrival_us": 0})");
  for (ArrivingRequest& arriving : plan.requests) {
    if (arriving.request.name == "late") arriving.delay_us = 500;
    if (arriving.request.name == "soon") arriving.delay_us = 300;
    if (arriving.delay_us > 0) arriving.after = {"A"};
  }
  EXPECT_THAT(joins_of(plan), ElementsAre("1 0: A busy", "4 3000: soon own late"));
}

TEST(WaitingRequests, NamesThatNobodyHasAndCirclesAreErrors) {
  RunPlan plan = plan_of(kTwo);
  plan.requests[1].after = {"C"};
  EXPECT_EQ(Runner::create(plan).error().message, "/requests/1/after: there is no request \"C\"");
  plan.requests[1].after = {"A"};
  plan.requests[0].after = {"B"};
  EXPECT_EQ(Runner::create(plan).error().message,
            "/requests/0/after: request \"A\" waits for itself, or for one that does");
}

// Steps an engine by the plain rule, request by request.
class NaiveRun {
 public:
  explicit NaiveRun(const RunPlan& plan)
      : plan_(plan), engine_(Engine::create(plan.setup.config).value()) {}

  bool done() const { return joined_.size() == plan_.requests.size() && is_idle(); }

  std::string step() {
    if (is_idle()) wait_for_somebody();
    std::vector<DueRequest> due;
    for (std::size_t i = 0; i < plan_.requests.size(); ++i)
      if (const auto time = due_us(i);
          time && plan_.requests[i].at_step <= step_ && *time <= engine_.now_us())
        due.push_back({plan_.requests[i].at_step, *time, i});
    std::sort(due.begin(), due.end());
    for (const DueRequest& one : due)
      joined_[plan_.requests[one.index].request.name] =
          engine_.add_request(plan_.requests[one.index].request).value();
    engine_.set_num_pending_commands(
        static_cast<std::int32_t>(plan_.requests.size() - joined_.size()));
    ++step_;
    const StepTrace& trace = engine_.step();
    for (const CommitTrace& commit : trace.committed)
      if (commit.finished) ends_[engine_.name_of(commit.request)] = engine_.now_us();
    return joined_in(trace, engine_);
  }

 private:
  bool is_idle() const { return engine_.num_unfinished() == 0 && !engine_.has_frame_in_flight(); }

  // Empty: it has joined, or waits for somebody who has not ended.
  std::optional<std::int64_t> due_us(std::size_t i) const {
    const ArrivingRequest& arriving = plan_.requests[i];
    if (joined_.contains(arriving.request.name)) return std::nullopt;
    std::int64_t due = arriving.arrival_us;
    for (const std::string& other : arriving.after) {
      if (!ends_.contains(other)) return std::nullopt;
      due = std::max(due, ends_.at(other) + arriving.delay_us);
    }
    return due;
  }

  void wait_for_somebody() {
    std::int64_t first_step = INT64_MAX;
    for (std::size_t i = 0; i < plan_.requests.size(); ++i)
      if (due_us(i)) first_step = std::min<std::int64_t>(first_step, plan_.requests[i].at_step);
    if (first_step == INT64_MAX) return;
    if (first_step > step_) engine_.advance_to_step(step_ = first_step);
    std::int64_t first_us = INT64_MAX;
    for (std::size_t i = 0; i < plan_.requests.size(); ++i)
      if (const auto due = due_us(i); due && plan_.requests[i].at_step <= step_)
        first_us = std::min(first_us, *due);
    engine_.advance_to(first_us);
  }

  const RunPlan& plan_;
  Engine engine_;
  std::map<std::string, RequestId> joined_;
  std::map<std::string, std::int64_t> ends_;
  std::int64_t step_ = 1;
};

class Drawn {
 public:
  explicit Drawn(std::uint64_t seed) : random_(seed) {}
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least +
           static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most - least + 1));
  }

 private:
  std::mt19937_64 random_;
};

RunPlan drawn_plan(Drawn& draw) {
  RunPlan plan = plan_of(R"({"id": "A", "prompt": 4})", "", draw.between(0, 1) ? "true" : "false");
  plan.requests.clear();
  const auto count = static_cast<std::size_t>(draw.between(2, 14));
  for (std::size_t i = 0; i < count; ++i) {
    ArrivingRequest arriving;
    if (draw.between(0, 3) == 0) arriving.at_step = static_cast<std::int32_t>(draw.between(1, 30));
    if (draw.between(0, 1) == 0) arriving.arrival_us = draw.between(0, 20'000);
    arriving.request = {
        .prompt = {{.content = i, .length = static_cast<std::int32_t>(draw.between(1, 20))}},
        .max_tokens = static_cast<std::int32_t>(draw.between(1, 9)),
        .key = i + 1};
    plan.requests.push_back(arriving);
  }
  std::stable_sort(plan.requests.begin(), plan.requests.end(), [](const auto& a, const auto& b) {
    return std::tie(a.at_step, a.arrival_us) < std::tie(b.at_step, b.arrival_us);
  });
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = count; i > 1; --i)
    std::swap(order[i - 1],
              order[static_cast<std::size_t>(draw.between(0, static_cast<std::int64_t>(i) - 1))]);
  for (std::size_t i = 0; i < count; ++i) plan.requests[i].request.name = fmt::format("r{}", i);
  for (std::size_t i = 1; i < count; ++i) {
    ArrivingRequest& arriving = plan.requests[order[i]];
    for (std::int64_t n = draw.between(0, 2); n > 0; --n)
      arriving.after.push_back(plan.requests[order[static_cast<std::size_t>(draw.between(
                                                 0, static_cast<std::int64_t>(i) - 1))]]
                                   .request.name);
    if (!arriving.after.empty() && draw.between(0, 1) == 0)
      arriving.delay_us = draw.between(0, 9'000);
  }
  return plan;
}

TEST(WaitingRequests, DrawnPlansJoinAsByTheRuleAlsoFromCopiesAndAfterFollowing) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Drawn draw(seed);
    const RunPlan plan = drawn_plan(draw);
    NaiveRun naive(plan);
    Runner runner = Runner::create(plan).value();
    for (int step = 0; step < 400 && !naive.done(); ++step) {
      if (draw.between(0, 4) == 0) runner = Runner(runner);
      if (draw.between(0, 4) == 0) runner.follow(std::make_shared<const RunPlan>(plan));
      ASSERT_FALSE(runner.done());
      const std::string expected = naive.step();
      ASSERT_EQ(joined_in(*runner.step().value(), runner.engine()), expected);
    }
    ASSERT_TRUE(naive.done());
    ASSERT_TRUE(runner.done());
  }
}

}  // namespace

}  // namespace hybridscope::runner_test
