#include "sessions/plan/plan_story.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sessions/plan/plan_run.h"
#include "sessions/plan/sweep.h"
#include "sessions/traffic/traffic.h"

namespace hybridscope::test::plan_story_test {
namespace {

using testing::Contains;
using testing::ElementsAre;

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

TEST_F(PlanStoryTest, WhatIsNearEqualInEveryGoalIsNamed) {
  add(1, ran(50, 1000));
  add(2, ran(51, 900));
  const std::vector<std::string> lines = story_lines(story().view());
  EXPECT_EQ(lines[0],
            "hits (share of the prompt tokens that the prefix cache serves): 51.0 %, which none "
            "beats by more than 2 %");
  EXPECT_EQ(lines[1],
            "within 2 % in every goal: max_num_seqs=1; of equal ones the one with the fewest "
            "changes from the defaults, then the fewest steps, is recommended");
  EXPECT_THAT(lines, Contains("max_num_seqs 2, not 1: equal in the goals; steps 900 rather than "
                              "1,000"));
}

// With steps of half the time the first reaches 50 % and the second 51 %: near equal.
TEST_F(PlanStoryTest, OtherStepTimesNameNoOtherRowThatIsNearEqual) {
  contents_.header.step_time = "20000";
  add(1, ran(20, 9));
  add(2, ran(30, 9));
  for (const auto& [name, hits] : {std::pair{"max_num_seqs=1 (step time x0.5)", 50},
                                   std::pair{"max_num_seqs=2 (step time x0.5)", 51},
                                   std::pair{"max_num_seqs=1 (step time x2)", 40},
                                   std::pair{"max_num_seqs=2 (step time x2)", 30}}) {
    contents_.results[name] = ran(hits, 9);
    contents_.results[name].name = name;
  }
  EXPECT_THAT(sensitivity_lines(story().view()),
              ElementsAre("if steps take half as long: the same",
                          "if steps take twice as long: max_num_seqs=1"));
}

constexpr std::int64_t kMinute = 60'000'000;

// The most requests wait after 58 minutes, none after `empty` minutes.
PlanResult ran_until(std::int64_t empty, std::int64_t hits) {
  PlanResult made = ran(hits, 90'000);
  made.figures.waiting.most = 8450;
  made.figures.last_arrival_step = 60'000;
  made.figures.queue = {.at = 59'000, .empty = 1000 * empty};
  made.figures.latency = {.span_us = 90 * kMinute,
                          .queue = {.at = 58 * kMinute, .empty = empty * kMinute}};
  return made;
}

TEST_F(PlanStoryTest, AnEngineThatFallsBehindIsToldWithHowManyItTakes) {
  contents_.header.arrivals_us = 59 * kMinute;
  contents_.header.step_time = "20000";
  add(1, ran_until(88, 30));
  EXPECT_EQ(overload_words(story().view()),
            "overload: this engine needs 88 min for 59 min of arrivals; about 1.5 such engines");
  EXPECT_THAT(story_lines(story().view()),
              Contains("waiting: at most 8,450 requests, 58 min after the first arrival; the "
                       "queue is empty again after 88 min"));
  add(2, ran_until(60, 10));  // within 2 %
  EXPECT_EQ(overload_words(story().view()),
            "overload: this engine needs 88 min for 59 min of arrivals; about 1.5 such engines; "
            "max_num_seqs=2 keeps up");
  add(1, ran_until(60, 30));
  EXPECT_EQ(overload_words(story().view()), "");
}

TEST_F(PlanStoryTest, WithoutAStepTimeNothingIsSaidOfMinutesAndEngines) {
  contents_.header.arrivals_us = 59 * kMinute;
  add(1, ran_until(88, 30));
  EXPECT_EQ(overload_words(story().view()),
            "overload at the simulated step_cost: requests wait until 28,000 steps after the last "
            "arrival; how many such engines it takes follows from --step-time");
  EXPECT_THAT(story_lines(story().view()),
              Contains("waiting: at most 8,450 requests, in step 59,000; the queue is empty "
                       "again in step 88,000"));
}

// Their arrivals depend on the engine.
TEST_F(PlanStoryTest, WhereRequestsWaitForOthersNothingIsSaidOfOverload) {
  contents_.header.step_time = "20000";
  add(1, ran_until(88, 30));
  EXPECT_EQ(overload_words(story().view()), "");
}

TEST(PlanTraffic, ArrivalsLastFromTheFirstToTheLastUnlessRequestsWaitForOthers) {
  const auto arrivals_of = [](std::vector<ArrivingRequest> requests) {
    Traffic traffic;
    traffic.requests = std::move(requests);
    return PlanTraffic("two", std::move(traffic), 0, 1).arrivals_us();
  };
  EXPECT_EQ(arrivals_of({{.arrival_us = 500}, {.arrival_us = 2500}}), 2000);
  EXPECT_EQ(arrivals_of({{.arrival_us = 500}, {.arrival_us = 2500, .after = {"A"}}}), 0);
  EXPECT_EQ(arrivals_of({}), 0);
}

}  // namespace

}  // namespace hybridscope::test::plan_story_test
