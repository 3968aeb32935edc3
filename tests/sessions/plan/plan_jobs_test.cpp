#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "sessions/plan/plan_jobs.h"
#include "sessions/plan/plan_story.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/traffic/traffic_load.h"

namespace hybridscope::test::plan_jobs_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Sweep sweep_of(const std::vector<std::string>& texts) {
  std::vector<SweepAxis> axes;
  for (const std::string& text : texts) axes.push_back(parse_sweep(text).value());
  EngineSettings base;
  base.num_gpu_blocks_override = 400;
  return Sweep::create(base, std::move(axes)).value();
}

PlanTraffic& traffic() {
  static PlanTraffic shared("synthetic",
                            make_synthetic_traffic({.num_conversations = 12,
                                                    .num_system_prompts = 2,
                                                    .turns = {1, 3},
                                                    .system_tokens = {30, 60},
                                                    .user_tokens = {4, 20},
                                                    .output_tokens = {2, 9},
                                                    .mean_think_us = 100'000})
                                .value(),
                            0, 3);
  return shared;
}

PlanSearchOptions options(std::int32_t num_threads = 1) {
  return {.run = {.model = "tiny-gdn"},
          .num_threads = num_threads,
          .goals = parse_goals("hits,concurrency").value()};
}

std::vector<PlanResult> results_of(const Sweep& sweep, const PlanSearchOptions& how,
                                   const std::map<std::string, PlanResult>& earlier = {}) {
  return run_plan(sweep, traffic(), earlier, how).value().results;
}

std::vector<std::string> names_of(const std::vector<PlanResult>& results) {
  std::vector<std::string> names;
  for (const PlanResult& result : results) names.push_back(result.name);
  return names;
}

TEST(PlanJobs, EachCombinationIsRunToItsEnd) {
  const Sweep sweep = sweep_of({"mamba_cache_mode=align,none", "max_num_seqs=2,8", "block_size=4"});
  const std::vector<PlanResult> results = results_of(sweep, options());
  ASSERT_EQ(results.size(), 4U);
  for (const PlanResult& result : results) {
    EXPECT_TRUE(result.ran()) << result.refused;
    EXPECT_EQ(result.figures.requests_finished, std::ssize(traffic().traffic().requests));
    EXPECT_LE(result.points.size(), kMostPlanPoints);
  }
  EXPECT_GT(results[0].figures.hit_tokens, 0);  // align
  EXPECT_EQ(results[2].figures.hit_tokens, 0);  // none
  EXPECT_EQ(results[0].figures.running.most, 2);
}

TEST(PlanJobs, EqualCombinationsRunOnceWithABudgetToo) {
  const Sweep sweep = sweep_of(
      {"mamba_cache_mode=none,align", "prefix_cache_retention_interval=none,0,2x", "block_size=4"});
  std::vector<std::string> ran;
  PlanSearchOptions how = options();
  how.take = [&](const PlanResult& result) {
    ran.push_back(result.name);
    return Status(Ok{});
  };
  EXPECT_EQ(results_of(sweep, how).size(), 4U);
  EXPECT_EQ(ran.size(), 4U);
  ran.clear();
  how.budget = 3;
  EXPECT_EQ(results_of(sweep, how).size(), 3U);
  EXPECT_EQ(std::set<std::string>(ran.begin(), ran.end()).size(), 3U);
  EXPECT_EQ(ran.size(), 3U);
}

TEST(PlanJobs, ThreadsAndEarlierResultsChangeNothing) {
  const Sweep sweep = sweep_of({"mamba_cache_mode=align,none", "block_size=4,8,12"});
  const std::vector<PlanResult> alone = results_of(sweep, options());
  EXPECT_EQ(results_of(sweep, options(3)), alone);
  const std::map<std::string, PlanResult> earlier = {{alone[1].name, alone[1]},
                                                     {alone[4].name, alone[4]}};
  PlanSearchOptions how = options(2);
  std::set<std::string> ran;
  how.take = [&](const PlanResult& result) -> Status {
    ran.insert(result.name);
    return Ok{};
  };
  EXPECT_EQ(results_of(sweep, how, earlier), alone);
  EXPECT_EQ(ran.size(), 4U);
}

TEST(PlanJobs, PromptsAreFoldedOnceForAllRunsWithTheSameBlockSize) {
  const Sweep sweep = sweep_of({"block_size=16,20", "max_num_seqs=1..4"});
  const std::int64_t before = traffic().num_folded();
  (void)results_of(sweep, options(2));
  EXPECT_EQ(traffic().num_folded() - before, 2);
}

TEST(PlanJobs, WhatTheModelDoesNotAllowIsAResultToo) {
  const Sweep sweep = sweep_of({"tensor_parallel_size=1,3"});
  const std::vector<PlanResult> results = results_of(sweep, options());
  EXPECT_TRUE(results[0].ran());
  EXPECT_THAT(results[1].refused, HasSubstr("not possible: "));
}

TEST(PlanJobs, APartRunsTheCombinationsThatItSelects) {
  PlanSearchOptions how = options();
  how.selects = [](std::string_view name) { return name.ends_with('3'); };
  EXPECT_THAT(names_of(results_of(sweep_of({"max_num_seqs=1..4"}), how)),
              ElementsAre("max_num_seqs=3"));
}

TEST(PlanJobs, ASearchKeepsToItsBudgetAndFindsTheBestOfEachAxis) {
  const Sweep sweep = sweep_of({"max_num_seqs=1..6", "mamba_cache_mode=none,align"});
  PlanSearchOptions how = options(2);
  how.budget = 9;
  const std::vector<PlanResult> results = results_of(sweep, how);
  EXPECT_EQ(results.size(), 9U);
  const std::vector<PlanResult> all = results_of(sweep, options(2));
  const PlanChoice found = choose(results, how.goals);
  EXPECT_EQ(results[found.recommended()].name, all[choose(all, how.goals).recommended()].name);
  how.num_threads = 1;
  EXPECT_EQ(results_of(sweep, how), results);
}

TEST(PlanJobs, AnInterruptedPlanHasTheResultsSoFar) {
  PlanSearchOptions how = options();
  how.run.go_on = [] { return false; };
  const auto outcome = run_plan(sweep_of({"max_num_seqs=1..4"}), traffic(), {}, how);
  EXPECT_TRUE(outcome.value().interrupted);
  EXPECT_THAT(outcome.value().results, testing::IsEmpty());
}

TEST(PlanReasons, SayWhatEachOtherValueWouldChange) {
  const Sweep sweep =
      sweep_of({"mamba_cache_mode=align,none", "tensor_parallel_size=1,3", "block_size=4"});
  const std::vector<PlanResult> results = results_of(sweep, options());
  const auto goals = parse_goals("hits").value();
  const PlanChoice choice = choose(results, goals);
  const PlanHeader header;
  const std::vector<std::string> reasons = plan_reasons(
      {.header = header, .sweep = sweep, .results = results, .goals = goals, .choice = choice});
  ASSERT_EQ(reasons.size(), 5U);
  EXPECT_THAT(reasons[0], HasSubstr("which none beats"));
  EXPECT_THAT(reasons[1], HasSubstr("mamba_cache_mode align, not none: hits "));
  EXPECT_THAT(reasons[2], HasSubstr("tensor_parallel_size 1, not 3: not possible"));
  EXPECT_THAT(reasons[3], HasSubstr("waiting: "));
  EXPECT_THAT(reasons[4], HasSubstr("of 399 in use"));
}

using testing::IsEmpty;
using testing::StartsWith;

// B shares 6 tokens with A, whose chunks of 8 tokens leave no state after 4.
RunPlan plan() {
  const std::string text =
      R"({"version": 1, "name": "n", "teaches": "t", "model": "tiny-gdn",
          "settings": {"mamba_cache_mode": "align", "block_size": 4, "max_model_len": 64,
                       "num_gpu_blocks_override": 64, "async_scheduling": false,
                       "long_prefill_token_threshold": 8},
          "requests": [{"id": "A", "prompt": 16, "max_tokens": 2},
                       {"id": "B", "prompt": {"tokens": 16, "share": "A", "share_tokens": 6},
                        "max_tokens": 2, "at_step": 9}]})";
  return plan_scenario(parse_scenario({text, "test.json"}).value(), "test.json").value();
}

std::vector<SweepAxis> axes(const std::vector<std::string>& texts) {
  std::vector<SweepAxis> axes;
  for (const std::string& text : texts) axes.push_back(parse_sweep(text).value());
  return axes;
}

TEST(SettingTries, ASettingThatKeepsMoreIsNamedWithItsPrice) {
  const SettingTries tries =
      SettingTries::run(plan(),
                        axes({"long_prefill_token_threshold=4,8", "tensor_parallel_size=3"}), {})
          .value();
  EXPECT_TRUE(tries.complete());
  ASSERT_EQ(tries.tries().size(), 3U);
  EXPECT_THAT(tries.tries()[2].refused, HasSubstr("tensor"));
  const std::vector<HelpfulSetting> helpful = tries.that_help("B");
  ASSERT_EQ(helpful.size(), 1U);
  EXPECT_EQ(helpful[0].name, "long_prefill_token_threshold=4");
  EXPECT_EQ(helpful[0].num_hit_tokens, 4);
  EXPECT_THAT(helpful[0].price, StartsWith("hit tokens 4 rather than 0, steps 9 rather than 7"));
  EXPECT_THAT(tries.that_help("A"), IsEmpty());
  EXPECT_THAT(tries.that_help("nobody"), IsEmpty());
}

TEST(SettingTries, WhatIsInterruptedIsNotComplete) {
  const SettingTries tries =
      SettingTries::run(plan(), axes({"block_size=4,8"}), [] { return false; }).value();
  EXPECT_FALSE(tries.complete());
  EXPECT_THAT(tries.tries(), IsEmpty());
}

using nlohmann::json;
using testing::Not;

// max_num_seqs 1 and 2; 100 prompt tokens.
PlanResult result(const std::string& num_seqs, std::int64_t hits, std::int64_t most_running) {
  PlanResult made{.name = "max_num_seqs=" + num_seqs,
                  .sizes = {.mamba_cache_mode = "align", .num_blocks = 50, .block_bytes = 4096}};
  made.figures.steps = 4;
  made.figures.prompt_tokens = 100;
  made.figures.hit_tokens = hits;
  made.figures.running.most = most_running;
  made.points = {{.first_step = 1,
                  .time_us = 1000,
                  .steps = 4,
                  .running = 6,
                  .waiting = 5,
                  .blocks = {8, 12, 16, 20},
                  .cached_blocks = 24,
                  .hit_tokens = hits,
                  .prompt_tokens = 100}};
  return made;
}

std::string page_of(const std::vector<PlanResult>& results, const std::string& traffic = "t.jsonl",
                    const std::string& goals = "hits,concurrency",
                    const std::string& step_time = "") {
  const PlanHeader header{.program = "hybridscope 1 (build 2)",
                          .model = "tiny-gdn",
                          .traffic = traffic,
                          .settings = "{}",
                          .step_time = step_time,
                          .sweeps = {"max_num_seqs=1,2"}};
  const Sweep sweep = Sweep::create({}, {parse_sweep("max_num_seqs=1,2").value()}).value();
  const std::vector<const PlanGoal*> chosen = parse_goals(goals).value();
  return plan_as_html({.header = header,
                       .sweep = sweep,
                       .results = results,
                       .goals = chosen,
                       .choice = choose(results, chosen),
                       .num_requests = 7});
}

json data_of(const std::string& page) {
  const std::string begin = "id=\"plan-data\">";
  const std::size_t from = page.find(begin) + begin.size();
  return json::parse(page.substr(from, page.find("</script>", from) - from));
}

std::size_t count_of(const std::string& page, const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = page.find(text); at != page.npos; at = page.find(text, at + 1)) ++count;
  return count;
}

TEST(PlanPage, ANameThatWantsToBeMarkupIsText) {
  const std::string name = "</script><img src=x onerror=alert(1)>\"data\"";
  const std::string page = page_of({result("1", 30, 1)}, name);
  EXPECT_EQ(count_of(page, "</script>"), 2U);
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_EQ(data_of(page)["plan"]["traffic"], name);
}

TEST(PlanPage, NothingIsLoadedFromElsewhere) {
  const std::string page = page_of({result("1", 30, 1)});
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_EQ(count_of(page, "http"), 2U);  // http-equiv, and the name of SVG
  EXPECT_THAT(page, Not(HasSubstr(" src=")));
  EXPECT_THAT(page, Not(HasSubstr("onclick")));
}

TEST(PlanPage, HasTheFrontTheRecommendedOneAndTheReasons) {
  const json data = data_of(page_of({result("1", 30, 1), result("2", 20, 2)}));
  EXPECT_EQ(data["recommended"], 1);
  EXPECT_THAT(data["front"], ElementsAre(1, 0));
  EXPECT_THAT(data["goals"], ElementsAre("hits", "concurrency"));
  EXPECT_EQ(data["reasons"][0],
            "hits (share of the prompt tokens that the prefix cache serves): 20.0 %; "
            "max_num_seqs=1 reaches 30.0 %");
  EXPECT_THAT(data["axes"], ElementsAre("max_num_seqs"));
  EXPECT_THAT(data["results"][1]["values"], ElementsAre("2"));
  EXPECT_EQ(data["counts"], "2 of 2 combinations run");
  EXPECT_EQ(data["requests"], 7);
}

// With one step an average is its sum.
TEST(PlanPage, EveryFigureHasAColumn) {
  PlanResult made = result("1", 0, 0);
  std::int64_t value = 1000;
  for (const PlanFigure& figure : plan_figures()) figure.value(made.figures) = value++;
  made.figures.steps = 1;
  const json data = data_of(page_of({made}, "t.jsonl", "hits,concurrency", "1000"));
  const json& figures = data["results"][0]["figures"];
  ASSERT_EQ(figures.size(), data["columns"].size());
  for (const PlanFigure& figure : plan_figures())
    EXPECT_THAT(figures, testing::Contains(figure.value(made.figures))) << figure.key;
  EXPECT_EQ(data["columns"][0]["name"], "hits");
  EXPECT_EQ(data["columns"][0]["more"], true);
}

TEST(PlanPage, TimesHaveColumnsOnlyWhereAStepTimeIsAssumed) {
  const json data = data_of(page_of({result("1", 30, 1)}));
  for (const json& column : data["columns"]) {
    EXPECT_NE(column["name"], "throughput");
    EXPECT_NE(column["name"], "span us");
  }
}

TEST(PlanPage, WhatIsNotPossibleHasItsReasonAndNoFigures) {
  const PlanResult refused{.name = "max_num_seqs=2", .refused = "not possible: too large"};
  const json data = data_of(page_of({result("1", 30, 1), refused}));
  EXPECT_EQ(data["results"][1]["refused"], "not possible: too large");
  EXPECT_FALSE(data["results"][1].contains("figures"));
  EXPECT_FALSE(data["results"][0].contains("refused"));
}

TEST(PlanPage, WithoutAResultNothingIsRecommended) {
  const PlanResult refused{.name = "max_num_seqs=2", .refused = "not possible: too large"};
  const json data = data_of(page_of({refused}));
  EXPECT_TRUE(data["recommended"].is_null());
  EXPECT_THAT(data["front"], ElementsAre());
}

TEST(PlanPage, APieceHasTimeStepsAndSumsByKind) {
  const json data = data_of(page_of({result("1", 30, 1)}));
  EXPECT_THAT(data["results"][0]["points"],
              ElementsAre(json({1000, 4, 6, 5, 8, 12, 16, 20, 24, 30, 100})));
  EXPECT_THAT(data["kinds"], ElementsAre("attention", "running state", "drafts", "snapshots"));
}

TEST(PlanPage, PiecesOfManyResultsAreAddedUp) {
  PlanResult made = result("1", 30, 1);
  made.points = std::vector<PlanPoint>(100'001, made.points[0]);
  made.points[1].hit_tokens = 77;
  const json data = data_of(page_of({made}));
  const json& points = data["results"][0]["points"];
  ASSERT_EQ(points.size(), 50'001U);
  EXPECT_EQ(points[0], json({1000, 8, 12, 10, 16, 24, 32, 40, 48, 77, 100}));
  EXPECT_EQ(points[50'000], json({1000, 4, 6, 5, 8, 12, 16, 20, 24, 30, 100}));
}

}  // namespace

}  // namespace hybridscope::test::plan_jobs_test
