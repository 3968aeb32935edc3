#include "sessions/plan/plan_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temporary_folder.h"

namespace hybridscope::test::plan_file_test {
namespace {

using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

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
  made.points = {{.first_step = 1,
                  .time_us = 2,
                  .steps = 3,
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
    ASSERT_TRUE(file.add(result("a", 1)).ok());
    PlanResult refused{.name = "b", .refused = "not possible: too large"};
    ASSERT_TRUE(file.add(refused).ok());
  }
  append("{\"name\": \"unfin");  // a crash
  const PlanFile file = PlanFile::open(path(), header()).value();
  EXPECT_THAT(file.contents().results,
              UnorderedElementsAre(
                  Pair("a", result("a", 1)),
                  Pair("b", PlanResult{.name = "b", .refused = "not possible: too large"})));
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
  append("{\"name\": \"a\", \"figures\": {\"steps\": -1}}\n");
  EXPECT_THAT(read_plan(path()).error().message, HasSubstr("plan.jsonl:2: /figures/steps"));
  EXPECT_THAT(read_plan(path("none.jsonl")).error().message, HasSubstr("none.jsonl"));
}

TEST_F(PlanFileTest, PartsAreMergedUnlessTheyDisagree) {
  for (const char* name : {"a", "b"}) {
    PlanFile file = PlanFile::open(path(name), header()).value();
    ASSERT_TRUE(file.add(result(name, 1)).ok());
  }
  EXPECT_EQ(merge_plans({path("a"), path("b")}).value().results.size(), 2U);
  PlanFile file = PlanFile::open(path("c"), header()).value();
  ASSERT_TRUE(file.add(result("a", 2)).ok());
  EXPECT_THAT(merge_plans({path("a"), path("c")}).error().message,
              HasSubstr("has another result of a than a file before it"));
}

}  // namespace
}  // namespace hybridscope::test::plan_file_test
