#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "sessions/matrix/matrix_cell.h"
#include "sessions/matrix/run_cell.h"
#include "sessions/plan/plan_figures.h"
#include "sessions/plan/plan_goals.h"
#include "sessions/plan/plan_story.h"
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

TEST(PlanGoals, OfEqualResultsTheOneWithTheFewestStepsIsOnTheFrontThenTheFirst) {
  std::vector<PlanResult> results = {result("a", 30, 10), result("b", 30, 10), result("c", 30, 10)};
  EXPECT_THAT(choose(results, goals()).front, ElementsAre(0U));
  for (std::size_t i = 0; i < 3; ++i) results[i].figures.steps = i == 0 ? 90 : 80;
  EXPECT_THAT(choose(results, goals()).front, ElementsAre(1U));
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

TEST(PlanGoals, WhereTheGoalsAreEqualTheStepsComeFirst) {
  PlanFigures a = result("a", 30, 10).figures;
  PlanFigures b = a;
  a.steps = 1000;
  b.steps = 1001;  // a tenth of a percent
  b.preemptions = 7;
  EXPECT_FALSE(differ_in(a, b, goals()));
  EXPECT_EQ(figure_differences(a, b, goals()),
            "steps 1,000 rather than 1,001, preemptions 0 rather than 7");
}

TEST(PlanGoals, AGoalThatDiffersByLessThanIsShownSaysSo) {
  PlanFigures a = result("a", 3000, 10).figures;
  a.prompt_tokens = 10'000;
  PlanFigures b = a;
  b.hit_tokens = 3001;
  EXPECT_EQ(figure_differences(a, b, goals()), "hits 30.0 %, worse by less than is shown");
  EXPECT_EQ(figure_differences(b, a, goals()), "hits 30.0 %, better by less than is shown");
}

TEST(PlanGoals, AnUnknownGoalIsRefusedWithTheNearest) {
  EXPECT_THAT(parse_goals("hit").error().message, HasSubstr("did you mean \"hits\"?"));
  EXPECT_THAT(parse_goals("hits,hits").error().message, HasSubstr("named twice"));
  EXPECT_THAT(parse_goals("").error().message, HasSubstr("there is no goal"));
}

using testing::Contains;

// Results of max_num_seqs=1..5.
class PlanStoryTest : public testing::Test {
 protected:
  void add(int num_seqs, const PlanResult& result) {
    PlanResult named = result;
    named.name = "max_num_seqs=" + std::to_string(num_seqs);
    contents_.results[named.name] = named;
  }
  PlanStory story() { return {contents_, sweep_, parse_goals("hits").value()}; }

  PlanContents contents_{.header = {.model = "tiny-gdn",
                                    .traffic = "t.jsonl",
                                    .settings = "{}",
                                    .sweeps = {"max_num_seqs=1..5"}},
                         .results = {}};
  Sweep sweep_ = sweep_of(contents_.header).value();
};

PlanResult ran(std::int64_t hits, std::int64_t steps) {
  PlanResult made;
  made.figures.prompt_tokens = 100;
  made.figures.hit_tokens = hits;
  made.figures.steps = steps;
  return made;
}

PlanResult refused(const std::string& why, std::int64_t steps = 0) {
  PlanResult made;
  made.refused = why;
  made.figures.steps = steps;
  return made;
}

TEST_F(PlanStoryTest, TheHeadingCountsWhatBecameOfAllCombinations) {
  add(1, ran(30, 9));
  add(2, refused("not possible: too large"));
  add(3, refused("did not end: from step 9 on", 9));
  EXPECT_EQ(plan_heading(story().view()),
            "tiny-gdn on t.jsonl; 1 of 5 combinations run, 1 not possible, 1 did not end, 2 not "
            "run");
}

TEST_F(PlanStoryTest, CombinationsThatDoNotRunAreToldOnceForEachReason) {
  add(1, refused("not possible: too large"));
  add(2, refused("not possible: no memory"));
  add(3, refused("not possible: too large"));
  add(4, ran(30, 9));
  add(5, refused("not possible: too large"));
  const PlanStory told = story();
  EXPECT_THAT(refused_lines(told.view(), 20),
              ElementsAre("max_num_seqs=1 and 2 more: not possible: too large",
                          "max_num_seqs=2: not possible: no memory"));
  EXPECT_THAT(refused_lines(told.view(), 1),
              ElementsAre("max_num_seqs=1 and 2 more: not possible: too large",
                          "and 1 more combination that did not run to their end; plan --json has "
                          "the reason of each"));
}

TEST_F(PlanStoryTest, ValuesThatAreNotPossibleHaveOneReason) {
  add(1, ran(30, 9));
  for (const int num_seqs : {2, 3, 4, 5}) add(num_seqs, refused("not possible: too large"));
  EXPECT_THAT(story_lines(story().view()),
              Contains("max_num_seqs 1, not 2, 3, 4 and 1 more: not possible: too large"));
}

// Both reach 30 % of hits; the second needs a step less.
TEST_F(PlanStoryTest, WhereTheGoalsAreEqualTheReasonsNameTheSteps) {
  add(1, ran(30, 1001));
  add(2, ran(30, 1000));
  const std::vector<std::string> lines = story_lines(story().view());
  EXPECT_EQ(lines[0],
            "hits (share of the prompt tokens that the prefix cache serves): 30.0 %, "
            "which none beats");
  EXPECT_EQ(lines[1],
            "equal in every goal as shown: max_num_seqs=1; of equal ones the first with the fewest "
            "steps is recommended");
  EXPECT_THAT(lines, Contains("max_num_seqs 2, not 1: equal in the goals; steps 1,000 rather than "
                              "1,001"));
}

// With steps of half the time the first reaches 30.04 % and the second 30.00 %: both show 30.0 %.
TEST_F(PlanStoryTest, OtherStepTimesNameNoOtherRowThatShowsTheSame) {
  contents_.header.step_time = "20000";
  const auto in_half = [](std::int64_t hits) {
    PlanResult made = ran(hits, 9);
    made.figures.prompt_tokens = 10'000;
    return made;
  };
  add(1, in_half(2999));
  add(2, in_half(3000));
  for (const auto& [name, hits] : {std::pair{"max_num_seqs=1 (step time x0.5)", 3004},
                                   std::pair{"max_num_seqs=2 (step time x0.5)", 3000},
                                   std::pair{"max_num_seqs=1 (step time x2)", 3100},
                                   std::pair{"max_num_seqs=2 (step time x2)", 3000}}) {
    contents_.results[name] = in_half(hits);
    contents_.results[name].name = name;
  }
  EXPECT_THAT(sensitivity_lines(story().view()),
              ElementsAre("if steps take half as long: the same",
                          "if steps take twice as long: max_num_seqs=1"));
}

}  // namespace

}  // namespace hybridscope::test::plan_figures_test
