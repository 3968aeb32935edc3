// What ends a run, or opens a report, is the first wrong state: known bug 9 of a release, whose
// counts are moved twice in step 4.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace hybridscope::test::first_wrong_state_test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

const std::string kRelease = " --engine vllm-0.33.0 --runner v1 --no-timings ";

std::string scenario_file() {
  nlohmann::json scenario = nlohmann::json::parse(
      read_file(std::string(HYBRIDSCOPE_SOURCE_DIR) +
                "/scenarios/bugs/align-counts-permuted-twice.json"))["scenario"];
  scenario["name"] = "permuted";
  scenario.erase("expect");
  return temporary_file("permuted.json", scenario.dump());
}

TEST(FirstWrongState, EndsARunThatBreaksAtFindings) {
  const ProgramResult run = run_program("run " + scenario_file() + kRelease + "--break finding");
  EXPECT_THAT(
      run.out,
      AllOf(HasSubstr("foreign-row-datum: step 4 D row 0: the accepted count is 1, the "
                      "request's is 3 "),
            HasSubstr("this is known bug 9, align-counts-permuted-twice\n"),
            HasSubstr("stopped at step 4 by --break 'finding'"), HasSubstr("--explain 4\n")));
}

TEST(FirstWrongState, IsNamedInJunitWithItsStepAndBug) {
  const std::string report = temporary_file("permuted.xml", "");
  run_program("run " + scenario_file() + kRelease + "--junit " + report);
  const std::string xml = read_file(report);
  EXPECT_THAT(xml, ContainsRegex("<failure type=\"foreign-row-datum\" message=\"[^\"]*"
                                 "foreign-row-datum: step 4 D row 0: [^\"]*"
                                 "this is known bug 9, align-counts-permuted-twice; "));
  EXPECT_THAT(xml, ContainsRegex("<failure type=\"running-state-wrong\" message=\""
                                 "running-state-wrong: step 4 D [^\"]*; follows from step 4\""));
  EXPECT_THAT(xml, AllOf(HasSubstr(" --explain 4\n"), Not(HasSubstr(" --explain 5\n"))));
}

}  // namespace
}  // namespace hybridscope::test::first_wrong_state_test
