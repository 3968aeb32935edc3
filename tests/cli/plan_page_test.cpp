// hybridscope plan --html.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cli/program.h"

namespace hybridscope::test::plan_page_command_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kPlan = "plan --traffic synthetic --limit 3 --model tiny-gdn --num-blocks 200 ";

TEST(PlanPageCommand, ThePageIsOnStandardOutputAndTheTableBesideIt) {
  const ProgramResult ran = run_program(kPlan + "--sweep max_num_seqs=1,2 -q --html -");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.out, StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(ran.err, HasSubstr("recommended: max_num_seqs=2"));
}

TEST(PlanPageCommand, AWrongPlaceIsRefusedBeforeAnythingRuns) {
  const ProgramResult two = run_program(kPlan + "--json --html -");
  EXPECT_EQ(two.exit_code, 2);
  EXPECT_THAT(two.err, HasSubstr("--html"));
  const std::string folder = temporary_folder("plan_page", {{"t.jsonl", "{}"}});
  const ProgramResult traffic =
      run_program("plan --traffic " + folder + "/t.jsonl --html " + folder + "/t.jsonl");
  EXPECT_EQ(traffic.exit_code, 2);
  EXPECT_THAT(traffic.err, HasSubstr("this is the traffic"));
  EXPECT_EQ(read_file(folder + "/t.jsonl"), "{}");
  const ProgramResult missing = run_program(kPlan + "--html " + folder + "/none/plan.html");
  EXPECT_EQ(missing.exit_code, 4);
  EXPECT_THAT(missing.err, HasSubstr("none/plan.html"));
}

}  // namespace
}  // namespace hybridscope::test::plan_page_command_test
