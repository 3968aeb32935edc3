#include "sessions/plan/plan_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "sessions/plan/step_time.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::test::plan_file_test {
namespace {

using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr const char* kOne = "max_num_seqs=1";
constexpr const char* kTwo = "max_num_seqs=2";

PlanHeader header() {
  return {
      .program = "hybridscope 1 (build 2)",
      .model = "tiny-gdn",
      .layout = "0123",
      .traffic = "t.jsonl",
      .how_read = {.format = "mooncake", .load = {.users = 8, .think_us = 5'000'000, .seed = 3}},
      .limit = 100,
      .digest = "4567",
      .settings = "{}",
      .sweeps = {"max_num_seqs=1,2"}};
}

PlanResult result(const std::string& name, std::int64_t steps) {
  PlanResult made{.name = name, .sizes = {.mamba_cache_mode = "align", .block_size = 8}};
  std::int64_t value = steps;
  for (const PlanFigure& figure : plan_figures()) figure.value(made.figures) = value++;
  made.figures.worst_step = 1;
  made.points = {{.first_step = 1,
                  .time_us = 2,
                  .steps = 1,
                  .running = 4,
                  .blocks = {5, 6, 7, 8},
                  .cached_blocks = 9,
                  .hit_tokens = 10,
                  .prompt_tokens = 11}};
  return made;
}

class PlanFileTest : public testing::Test {
 protected:
  std::string path(const std::string& name = "plan.jsonl") const {
    return folder_.path() + "/" + name;
  }
  void append(const std::string& text) const { std::ofstream(path(), std::ios::app) << text; }
  TemporaryFolder folder_;
};

TEST_F(PlanFileTest, ResultsAreThereWhenItIsOpenedAgain) {
  {
    PlanFile file = PlanFile::open(path(), header()).value();
    ASSERT_TRUE(file.add(result(kOne, 1)).ok());
    PlanResult refused{.name = kTwo, .refused = "not possible: too large"};
    ASSERT_TRUE(file.add(refused).ok());
  }
  append("{\"name\": \"unfin");  // a crash
  const PlanFile file = PlanFile::open(path(), header()).value();
  EXPECT_THAT(file.contents().results,
              UnorderedElementsAre(
                  Pair(kOne, result(kOne, 1)),
                  Pair(kTwo, PlanResult{.name = kTwo, .refused = "not possible: too large"})));
  EXPECT_EQ(read_plan(path()).value().header, header());
}

TEST_F(PlanFileTest, AnotherPlanIsRefusedWithTheDifference) {
  (void)PlanFile::open(path(), header()).value();
  PlanHeader other = header();
  other.digest = "89ab";
  EXPECT_THAT(PlanFile::open(path(), other).error().message,
              HasSubstr("has another plan: content of the traffic: 4567, not 89ab"));
}

TEST_F(PlanFileTest, TwoProgramsDoNotWriteOneFile) {
  const PlanFile file = PlanFile::open(path(), header()).value();
  EXPECT_THAT(PlanFile::open(path(), header()).error().message,
              HasSubstr("another hybridscope does"));
}

TEST_F(PlanFileTest, ALineThatIsNoResultIsNamed) {
  (void)PlanFile::open(path(), header()).value();
  append("{\"name\": \"max_num_seqs=1\", \"figures\": {\"steps\": -1}}\n");
  EXPECT_THAT(read_plan(path()).error().message, HasSubstr("plan.jsonl:2: /figures/steps"));
  EXPECT_THAT(read_plan(path("none.jsonl")).error().message, HasSubstr("none.jsonl"));
}

TEST_F(PlanFileTest, AResultOfNoCombinationIsNamed) {
  (void)PlanFile::open(path(), header()).value();
  append("{\"name\": \"max_num_seqs=3\", \"refused\": \"not possible: x\"}\n");
  EXPECT_THAT(
      read_plan(path()).error().message,
      HasSubstr("plan.jsonl:2: /name: \"max_num_seqs=3\" (expected a combination of the sweeps: "
                "max_num_seqs=1,2)"));
}

TEST_F(PlanFileTest, ResultsUnderOtherStepTimesNeedAStepTime) {
  const std::string half = std::string(kOne) + std::string(kOtherStepTimes[0].suffix);
  PlanHeader timed = header();
  timed.step_time = "20000 + 30*prefill";
  ASSERT_TRUE(PlanFile::open(path("timed"), timed).value().add(result(half, 1)).ok());
  EXPECT_TRUE(read_plan(path("timed")).ok());
  ASSERT_TRUE(PlanFile::open(path("untimed"), header()).value().add(result(half, 1)).ok());
  EXPECT_THAT(read_plan(path("untimed")).error().message, HasSubstr("untimed:2: /name"));
}

TEST_F(PlanFileTest, AHeaderThatThisProgramDoesNotUnderstandIsNamed) {
  PlanHeader wrong = header();
  wrong.sweeps = {"max_num_sequences=1"};
  (void)PlanFile::open(path("sweeps"), wrong).value();
  EXPECT_THAT(read_plan(path("sweeps")).error().message, HasSubstr("sweeps:1: /sweeps: "));
  wrong = header();
  wrong.settings = "{\"max_num_seqs\": \"many\"}";
  (void)PlanFile::open(path("settings"), wrong).value();
  EXPECT_THAT(read_plan(path("settings")).error().message,
              HasSubstr("settings:1: /settings: /max_num_seqs"));
  wrong = header();
  wrong.step_time = "3 * steps";
  (void)PlanFile::open(path("time"), wrong).value();
  EXPECT_THAT(read_plan(path("time")).error().message, HasSubstr("time:1: /step_time: "));
}

TEST_F(PlanFileTest, StepsThatARunCannotHaveAreNamed) {
  PlanResult wrong = result(kOne, 5);
  wrong.figures.worst_step = 6;
  ASSERT_TRUE(PlanFile::open(path("worst"), header()).value().add(wrong).ok());
  EXPECT_THAT(read_plan(path("worst")).error().message,
              HasSubstr("worst:2: /figures/worst_step: 6 (expected 1 to 5"));
  wrong = result(kOne, 5);
  wrong.points.push_back(wrong.points.back());
  ASSERT_TRUE(PlanFile::open(path("points"), header()).value().add(wrong).ok());
  EXPECT_THAT(read_plan(path("points")).error().message,
              HasSubstr("points:2: /points/1: steps 1 to 1 (expected steps of 2 to 5)"));
}

TEST_F(PlanFileTest, ACombinationHasOneResult) {
  PlanFile file = PlanFile::open(path(), header()).value();
  ASSERT_TRUE(file.add(result(kOne, 1)).ok());
  ASSERT_TRUE(file.add(result(kOne, 1)).ok());
  EXPECT_TRUE(read_plan(path()).ok());
  ASSERT_TRUE(file.add(result(kOne, 2)).ok());
  EXPECT_THAT(read_plan(path()).error().message,
              HasSubstr("plan.jsonl:4: /name: \"max_num_seqs=1\" has another result in a line "
                        "before this one"));
}

TEST_F(PlanFileTest, CountsAreThoseThatADoubleHolds) {
  ASSERT_TRUE(PlanFile::open(path(), header()).value().add(result(kOne, (1LL << 53) + 1)).ok());
  EXPECT_THAT(read_plan(path()).error().message,
              HasSubstr("/figures/steps: expected an integer from 0 to 9007199254740992"));
}

TEST_F(PlanFileTest, OnlyWhatDidNotEndHasFiguresAndAReason) {
  PlanResult stuck = result(kOne, 5);
  stuck.refused = "did not end: from step 5 on no request could progress";
  ASSERT_TRUE(PlanFile::open(path("stuck"), header()).value().add(stuck).ok());
  EXPECT_EQ(read_plan(path("stuck")).value().results.at(kOne), stuck);
  stuck.refused = "not possible: too large";
  ASSERT_TRUE(PlanFile::open(path("refused"), header()).value().add(stuck).ok());
  EXPECT_THAT(read_plan(path("refused")).error().message, HasSubstr("refused:2: /figures: "));
}

TEST_F(PlanFileTest, PartsAreMergedUnlessTheyDisagree) {
  for (const auto& [file, name] : {std::pair("a", kOne), std::pair("b", kTwo)})
    ASSERT_TRUE(PlanFile::open(path(file), header()).value().add(result(name, 1)).ok());
  EXPECT_EQ(merge_plans({path("a"), path("b")}).value().results.size(), 2U);
  PlanFile file = PlanFile::open(path("c"), header()).value();
  ASSERT_TRUE(file.add(result(kOne, 2)).ok());
  EXPECT_THAT(merge_plans({path("a"), path("c")}).error().message,
              HasSubstr("has another result of max_num_seqs=1 than a file before it"));
}

}  // namespace
}  // namespace hybridscope::test::plan_file_test
