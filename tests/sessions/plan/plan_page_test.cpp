#include "sessions/plan/plan_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hybridscope::test::plan_page_test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
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
              ElementsAre(json({1000, 4, 6, 8, 12, 16, 20, 24, 30, 100})));
  EXPECT_THAT(data["kinds"], ElementsAre("attention", "running state", "drafts", "snapshots"));
}

TEST(PlanPage, PiecesOfManyResultsAreAddedUp) {
  PlanResult made = result("1", 30, 1);
  made.points = std::vector<PlanPoint>(100'001, made.points[0]);
  made.points[1].hit_tokens = 77;
  const json data = data_of(page_of({made}));
  const json& points = data["results"][0]["points"];
  ASSERT_EQ(points.size(), 50'001U);
  EXPECT_EQ(points[0], json({1000, 8, 12, 16, 24, 32, 40, 48, 77, 100}));
  EXPECT_EQ(points[50'000], json({1000, 4, 6, 8, 12, 16, 20, 24, 30, 100}));
}

}  // namespace
}  // namespace hybridscope::test::plan_page_test
