#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "sessions/matrix/matrix_cell.h"
#include "sessions/matrix/run_cell.h"
#include "sessions/plan/plan_figures.h"
#include "sessions/plan/plan_goals.h"
#include "sessions/plan/plan_run.h"
#include "sessions/run/runner.h"
#include "sessions/scenario/scenario_reader.h"
#include "tests/support/property.h"

namespace hybridscope::test::plan_figures_test {
namespace {

RunPlan plan_of(const std::string& settings, const std::string& requests,
                const std::string& model = "tiny-gdn") {
  const std::string text = R"({"version": 1, "name": "n", "teaches": "t", "model": ")" + model +
                           R"(", "settings": {"max_model_len": 64, )" + settings +
                           R"(}, "requests": [)" + requests + "]}";
  return plan_scenario(parse_scenario({text, "test.json"}).value(), "test.json").value();
}

PlanFigures figures_of(RunPlan plan) {
  PlanMeter meter(plan.setup.config);
  Runner runner = Runner::create(std::move(plan)).value();
  while (!runner.done()) meter.add(*runner.step().value());
  return meter.figures();
}

constexpr const char* kAlign =
    R"("mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 64,
       "async_scheduling": false)";

TEST(PlanMeter, HitsAndComputedTokensAddUpToThePrompts) {
  const PlanFigures f = figures_of(plan_of(kAlign, R"({"id": "A", "prompt": 20, "max_tokens": 2},
                 {"id": "B", "prompt": {"tokens": 20, "share": "A", "share_tokens": 18}, "max_tokens": 2,
                  "at_step": 9})"));
  EXPECT_EQ(f.prompt_tokens, 40);
  EXPECT_EQ(f.hit_tokens, 16);  // two blocks of A
  EXPECT_EQ(f.computed_prompt_tokens, 24);
  EXPECT_DOUBLE_EQ(f.hit_rate(), 0.4);
  EXPECT_EQ(f.running.most, 1);
  EXPECT_EQ(f.requests_finished, 2);
}

TEST(PlanMeter, BlocksOfARequestAreItsStateItsDraftsAndSnapshots) {
  const PlanFigures f = figures_of(
      plan_of(std::string(kAlign) +
                  R"(, "speculative_config": {"method": "mtp", "num_speculative_tokens": 2})",
              R"({"id": "A", "prompt": 7, "max_tokens": 1})"));
  const auto most = [&](BlockKind kind) { return f.blocks[static_cast<std::size_t>(kind)].most; };
  EXPECT_EQ(most(BlockKind::running_state), 2);  // tiny-gdn has two recurrent groups
  EXPECT_EQ(most(BlockKind::draft), 4);
  EXPECT_EQ(most(BlockKind::snapshot), 0);
  EXPECT_GE(most(BlockKind::attention), 1);
}

// Preempts A, which has a prompt of 7 tokens, after its third step.
PlanFigures figures_with_preemption(const std::string& settings) {
  RunPlan plan = plan_of(settings, R"({"id": "A", "prompt": 7, "max_tokens": 6})");
  PlanMeter meter(plan.setup.config);
  Engine engine = Engine::create(plan.setup.config).value();
  (void)engine.add_request(plan.requests[0].request);
  for (int step = 0; step < 3; ++step) meter.add(engine.step());
  EXPECT_EQ(meter.figures().lost_tokens, 0);
  EXPECT_TRUE(engine.apply(PreemptRequest{RequestId{0}}).ok());
  while (engine.num_unfinished() > 0) meter.add(engine.step());
  EXPECT_EQ(meter.figures().preemptions, 1);
  return meter.figures();
}

// One request at a time, three steps each.
TEST(PlanMeter, TheQueueIsLongestWhereMostWaitAndEmptyWhereNoneDoesAgain) {
  const PlanFigures f = figures_of(plan_of(std::string(kAlign) + R"(, "max_num_seqs": 1)",
                                           R"({"id": "A", "prompt": 6, "max_tokens": 3},
                                              {"id": "B", "prompt": 6, "max_tokens": 3},
                                              {"id": "C", "prompt": 6, "max_tokens": 3, "at_step": 2})"));
  EXPECT_EQ(f.waiting.most, 2);
  EXPECT_EQ(f.queue, (LongestQueue{.at = 2, .empty = 7}));
  EXPECT_EQ(f.last_arrival_step, 2);
}

TEST(PlanMeter, TokensThatAPreemptionThrowsAwayAreLost) {
  const PlanFigures f = figures_with_preemption(
      R"("mamba_cache_mode": "none", "num_gpu_blocks_override": 64, "async_scheduling": false)");
  EXPECT_EQ(f.lost_tokens, 9);  // 7 of the prompt and two of the answer
  EXPECT_EQ(f.computed_prompt_tokens, 14);
}

TEST(PlanMeter, TokensThatTheCacheGivesBackAreNotLost) {
  const PlanFigures f = figures_with_preemption(kAlign);
  EXPECT_EQ(f.lost_tokens, 1);  // the block of 8 tokens is hit
  EXPECT_EQ(f.computed_prompt_tokens, 7);
}

// What requests hold, counted anew from the engine's block lists after each step.
struct Counted {
  std::set<std::int32_t> attention, mamba;
  std::int64_t running = 0, drafts = 0, cached = 0;
};
Counted count(const Engine& engine) {
  Counted counted;
  const EngineConfig& config = engine.config();
  const auto groups = static_cast<std::int32_t>(config.kv_cache_config.groups.size());
  for (std::int32_t request = 0; request < engine.num_requests(); ++request)
    for (std::int32_t group = 0; group < groups; ++group) {
      const bool is_mamba =
          config.kv_cache_config.groups[static_cast<std::size_t>(group)].is_mamba();
      std::int64_t held = 0;
      for (const std::int32_t block : engine.kv_cache().block_ids(RequestId{request}, group)) {
        if (block == kNullBlock) continue;
        (is_mamba ? counted.mamba : counted.attention).insert(block);
        ++held;
      }
      if (!is_mamba || held == 0) continue;
      ++counted.running;
      counted.drafts += std::min<std::int64_t>(held - 1, config.num_speculative_tokens);
    }
  for (std::int32_t block = 1; block < config.kv_cache_config.num_blocks; ++block)
    if (!counted.mamba.contains(block) && !counted.attention.contains(block) &&
        engine.kv_cache().pool().key(block).block_hash != 0)
      ++counted.cached;
  return counted;
}

TEST(BlockUseMeter, CountsWhatTheEnginesBlockListsSayAfterEachStep) {
  const std::uint64_t seed = from_environment("HYBRIDSCOPE_SEED", 20261128);
  SCOPED_TRACE("HYBRIDSCOPE_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::vector<MatrixCell> cells = all_cells();
  for (std::size_t done = 0; done < num_cases(60);) {
    const MatrixCell& cell = cells[random() % cells.size()];
    if (stands_for(cell) || !refusal_of(cell).empty()) continue;
    const Scenario scenario = drawn_scenario(cell, static_cast<std::int64_t>(done++), seed);
    SCOPED_TRACE(scenario.name);
    Runner runner = Runner::create(plan_scenario(scenario, "scenario.json").value()).value();
    BlockUseMeter meter(runner.engine().config());
    for (int steps = 0; !runner.done() && steps < 300; ++steps) {
      const StepTrace& trace = *runner.step().value();
      for (const CacheEvent& event : trace.cache_events) meter.take(event);
      for (const CacheEvent& event : trace.commit_events) meter.take(event);
      const Counted counted = count(runner.engine());
      ASSERT_EQ(meter.blocks(BlockKind::attention), std::ssize(counted.attention)) << trace.step;
      ASSERT_EQ(meter.blocks(BlockKind::running_state), counted.running) << trace.step;
      ASSERT_EQ(meter.blocks(BlockKind::draft), counted.drafts) << trace.step;
      ASSERT_EQ(meter.blocks(BlockKind::snapshot),
                std::ssize(counted.mamba) - counted.running - counted.drafts)
          << trace.step;
      ASSERT_EQ(meter.num_cached(), counted.cached) << trace.step;
    }
  }
}

using testing::ElementsAre;
using testing::HasSubstr;

// Of 100 prompt tokens.
PlanResult result(const std::string& name, std::int64_t hits, std::int64_t most_running) {
  PlanResult made{.name = name};
  made.figures.prompt_tokens = 100;
  made.figures.hit_tokens = hits;
  made.figures.running.most = most_running;
  return made;
}

std::vector<const PlanGoal*> goals(const std::string& text = "hits,concurrency") {
  return parse_goals(text).value();
}

TEST(PlanGoals, TheFrontHasWhatNoOtherResultBeats) {
  const std::vector<PlanResult> results = {result("a", 30, 10), result("b", 20, 20),
                                           result("beaten by a", 29, 10), result("c", 0, 21),
                                           result("equal to b", 20, 20)};
  const PlanChoice choice = choose(results, goals());
  EXPECT_THAT(choice.front, testing::UnorderedElementsAre(0U, 1U, 3U));
}

// The one with the fewest changes from the defaults, then with the fewest steps, then the first.
TEST(PlanGoals, OfEqualResultsTheSimplestIsOnTheFront) {
  std::vector<PlanResult> results = {result("a", 30, 10), result("b", 30, 10), result("c", 30, 10)};
  EXPECT_THAT(choose(results, goals()).front, ElementsAre(0U));
  for (std::size_t i = 0; i < 3; ++i) results[i].figures.steps = i == 0 ? 90 : 80;
  EXPECT_THAT(choose(results, goals()).front, ElementsAre(1U));
  for (std::size_t i = 0; i < 3; ++i) results[i].num_changes = i == 2 ? 1 : 2;
  EXPECT_THAT(choose(results, goals()).front, ElementsAre(2U));
}

// 148 is within 2 % of 151, 147 is not.
TEST(PlanGoals, WhatIsNearEqualToTheBestIsAsGood) {
  std::vector<PlanResult> results = {result("a", 0, 148), result("b", 0, 151)};
  EXPECT_THAT(choose(results, goals()).front, ElementsAre(0U));
  results[0] = result("a", 0, 147);
  EXPECT_THAT(choose(results, goals()).front, ElementsAre(1U));
}

// Two sums of losses that differ by at most 0.02 are equal: hits of 31 and of 30 %.
TEST(PlanGoals, OfNearEqualSumsTheSimplestIsRecommended) {
  std::vector<PlanResult> results = {result("a", 31, 10), result("b", 30, 10)};
  results[0].num_changes = 1;
  EXPECT_THAT(choose(results, goals("hits")).front, ElementsAre(0U));  // it beats b
  for (PlanResult& one : results) one.figures.requests_finished = 1000;
  results[0].figures.preemptions = 10;
  EXPECT_EQ(choose(results, goals("hits,preemptions")).recommended(), 1U);
}

// a is preempted once for every tenth request; b runs half as many at once.
TEST(PlanGoals, PreemptionsAreAShareOfTheRequestsAndLostTokensOfThoseComputed) {
  std::vector<PlanResult> results = {result("a", 0, 20), result("b", 0, 10)};
  results[0].figures.requests_finished = 1000;
  results[0].figures.preemptions = 100;
  results[0].figures.computed_prompt_tokens = 2000;
  results[0].figures.lost_tokens = 100;
  const PlanChoice choice = choose(results, goals("concurrency,preemptions,lost"));
  EXPECT_EQ(choice.recommended(), 0U);
  EXPECT_DOUBLE_EQ(choice.losses[1].share, 0.1);
  EXPECT_DOUBLE_EQ(choice.losses[2].share, 0.05);
}

// A peak of 151 requests in place of 150 is worth neither the hits nor 1,007 preemptions.
TEST(PlanGoals, ByDefaultPreemptionsAndLostTokensCount) {
  std::vector<PlanResult> results = {result("none", 0, 151), result("align", 12, 150)};
  results[0].figures.preemptions = 1007;
  results[0].figures.lost_tokens = 4'700'000;
  const PlanChoice choice = choose(results, goals(std::string(kDefaultGoals)));
  EXPECT_THAT(choice.front, ElementsAre(1U));
  for (const GoalLoss& loss : choice.losses) EXPECT_EQ(loss.share, 0) << loss.goal->name;
}

// a gives up 0.1 of the hits and nothing else, b nothing of them and half of the concurrency.
TEST(PlanGoals, TheSmallestSumOfLossesIsRecommended) {
  const std::vector<PlanResult> results = {result("b", 30, 10), result("a", 20, 20)};
  const PlanChoice choice = choose(results, goals());
  EXPECT_EQ(choice.recommended(), 1U);
  ASSERT_EQ(choice.losses.size(), 2U);
  EXPECT_DOUBLE_EQ(choice.losses[0].share, 0.1);
  EXPECT_DOUBLE_EQ(choice.losses[1].share, 0);
}

TEST(PlanGoals, AResultThatDidNotRunIsNotOnTheFront) {
  std::vector<PlanResult> results = {result("a", 30, 10), result("b", 90, 90)};
  results[1].refused = "not possible: too large";
  EXPECT_THAT(choose(results, goals()).front, ElementsAre(0U));
  results[0].refused = results[1].refused;
  EXPECT_FALSE(choose(results, goals()).has_recommendation());
  EXPECT_FALSE(choose({}, goals()).has_recommendation());
}

TEST(PlanGoals, FewerIsBetterWhereAGoalSaysSo) {
  std::vector<PlanResult> results = {result("a", 0, 0), result("b", 0, 0)};
  results[0].figures.preemptions = 7;
  results[1].figures.preemptions = 2;
  EXPECT_THAT(choose(results, goals("preemptions")).front, ElementsAre(1U));
}

TEST(PlanGoals, DifferencesNameTheGoalsThenWhatDiffersMost) {
  PlanFigures a = result("a", 30, 10).figures;
  PlanFigures b = result("b", 20, 10).figures;
  a.steps = 90;
  b.steps = 80;
  a.preemptions = 7;
  EXPECT_EQ(figure_differences(a, b, goals()),
            "hits 30.0 % rather than 20.0 %, preemptions 7 rather than 0, steps 90 rather than 80");
  EXPECT_EQ(figure_differences(a, a, goals()), "");
}

TEST(PlanGoals, DifferencesOfAtMost2PercentAreNone) {
  PlanFigures a = result("a", 50, 150).figures;
  PlanFigures b = result("b", 51, 151).figures;
  a.steps = 1000;
  b.steps = 1021;
  EXPECT_TRUE(near_equal(a, b, goals()));
  EXPECT_EQ(figure_differences(a, b, goals()), "steps 1,000 rather than 1,021");
}

TEST(PlanGoals, AnUnknownGoalIsRefusedWithTheNearest) {
  EXPECT_THAT(parse_goals("hit").error().message, HasSubstr("did you mean \"hits\"?"));
  EXPECT_THAT(parse_goals("hits,hits").error().message, HasSubstr("named twice"));
  EXPECT_THAT(parse_goals("").error().message, HasSubstr("there is no goal"));
}

}  // namespace

}  // namespace hybridscope::test::plan_figures_test
