#include "sessions/plan/plan_goals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hybridscope::test::plan_goals_test {
namespace {

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

}  // namespace
}  // namespace hybridscope::test::plan_goals_test
