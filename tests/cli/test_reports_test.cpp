#include "cli/test_reports.h"

#include <gmock/gmock.h>
#include <fstream>

#include "tests/cli/program.h"
#include "tests/cli/suite_scenarios.h"

namespace hybridscope::test::test_reports_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

JunitSuite suite(const std::string& name, std::vector<JunitCase> cases) {
  return {.name = name, .file = "a.json", .cases = std::move(cases)};
}

TEST(TapText, HasAPointASuiteAndSaysWhatFailed) {
  const std::vector<JunitSuite> suites = {
      suite("fine", {{.name = "label-mismatch"}}),
      suite("sick #1", {{.name = "label-mismatch"},
                        {.name = "no-progress", .failures = {"step 4 \"A\"", "more"}, .line = 7}}),
      suite("late",
            {{.name = "run", .failures = {"interrupted"}, .problem = JunitProblem::skipped}})};
  EXPECT_EQ(tap_text(suites),
            "TAP version 14\n"
            "1..3\n"
            "ok 1 - fine\n"
            "not ok 2 - sick \\#1\n"
            "  ---\n"
            "  file: \"a.json\"\n"
            "  problems:\n"
            "    - rule: \"no-progress\"\n"
            "      message: \"step 4 \\\"A\\\"\"\n"
            "      line: 7\n"
            "  ...\n"
            "ok 3 - late # SKIP interrupted\n");
}

class RerunFailed : public testing::Test {
 protected:
  ProgramResult run(const std::string& arguments) {
    return run_program("run '" + folder_ + "' --no-timings " + arguments);
  }
  std::string folder_ = temporary_folder("tap", {{"a.json", fine_scenario("fine")},
                                                 {"b.json", faulty_scenario("faulty #2")},
                                                 {"c.json", unmet_scenario("unmet")}});
  std::string report_ = folder_ + "/report.tap";
};

TEST_F(RerunFailed, RunsWhatIsNotOkInTheReport) {
  EXPECT_EQ(run("--tap '" + report_ + "'").exit_code, 1);
  EXPECT_THAT(failed_in_tap(report_).value(), ElementsAre("faulty #2", "unmet"));
  const ProgramResult again = run("--rerun-failed '" + report_ + "'");
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.out, HasSubstr("faulty #2"));
  EXPECT_THAT(again.out, HasSubstr("unmet"));
  EXPECT_THAT(again.out, Not(HasSubstr("  fine\n")));
}

TEST_F(RerunFailed, IsFineWhenNothingFailed) {
  EXPECT_EQ(run("--filter fine --tap '" + report_ + "'").exit_code, 0);
  const ProgramResult again = run("--rerun-failed '" + report_ + "'");
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_THAT(again.out, IsEmpty());
  EXPECT_THAT(again.err, HasSubstr("nothing failed in"));
}

TEST_F(RerunFailed, WhatIsNoReportIsRefused) {
  std::ofstream(report_) << "<xml/>\n";
  const ProgramResult again = run("--rerun-failed '" + report_ + "'");
  EXPECT_EQ(again.exit_code, 3);
  EXPECT_THAT(again.err, HasSubstr("report.tap:1: \"<xml/>\", expected \"TAP version 14\""));
  EXPECT_EQ(run("--rerun-failed nowhere.tap").exit_code, 3);
}

}  // namespace

}  // namespace hybridscope::test::test_reports_test
