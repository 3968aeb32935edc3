#include "sessions/plan/plan_story.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
}  // namespace hybridscope::test::plan_story_test
