#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/cli/suite_scenarios.h"

namespace hybridscope::test::ci_output_test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string mixed_folder() {
  return temporary_folder("ci", {{"a.json", "{\n  broken"},
                                 {"b.json", faulty_scenario("faulty")},
                                 {"c.json", fine_scenario("fine")}});
}

TEST(Github, GetsAnnotationsOnStderrAndLeavesStdoutAsItIs) {
  const std::string arguments = "run '" + mixed_folder() + "' --json --no-timings";
  const ProgramResult run = run_program(arguments, "GITHUB_ACTIONS=true");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.out, run_program(arguments).out);
  EXPECT_THAT(run.err, ContainsRegex("(^|\n)::error file=[^,]*/a.json,line=2,title=a%3A run::"));
  EXPECT_THAT(run.err, ContainsRegex("\n::error file=[^,]*/b.json,line=[0-9]+,title=faulty%3A "
                                     "running-state-wrong::running-state-wrong: step "));
  EXPECT_THAT(run.err, HasSubstr("%0Areproduce: hybridscope run "));
  EXPECT_THAT(run.err, Not(HasSubstr("fine%3A")));
}

TEST(Github, IsNotToldElsewhere) {
  const ProgramResult run =
      run_program("run '" + mixed_folder() + "'", "GITHUB_STEP_SUMMARY=/no/such/folder/s.md");
  EXPECT_THAT(run.err, IsEmpty());
}

TEST(Github, GetsATableInTheSummaryOfTheStep) {
  const std::string summary = temporary_file("step_summary.md", "before\n");
  run_program("run '" + mixed_folder() + "'",
              "GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY='" + summary + "'");
  const std::string text = read_file(summary);
  EXPECT_THAT(text, HasSubstr("before\n### hybridscope run: 1 of 3 without a problem\n"));
  EXPECT_THAT(text, ContainsRegex("\n\\| invalid \\| a \\| 0 \\| 0 \\|"));
  EXPECT_THAT(text, ContainsRegex("\n\\| ok \\| fine \\| 3 \\| 0 \\| [0-9.]+ \\|  \\|\n"));
}

TEST(Github, ASummaryThatCannotBeWrittenIsToldAndChangesNothing) {
  const ProgramResult run =
      run_program("run scenarios/plain_decode.json",
                  "GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY=/no/such/folder/s.md");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.err, HasSubstr("cannot append to /no/such/folder/s.md"));
}

TEST(Github, AnnotatesOneScenarioToo) {
  const std::string folder = mixed_folder();
  const ProgramResult faulty = run_program("run '" + folder + "/b.json'", "GITHUB_ACTIONS=true");
  EXPECT_EQ(faulty.exit_code, 1);
  EXPECT_THAT(faulty.err, HasSubstr("::error file="));
  const ProgramResult broken = run_program("run '" + folder + "/a.json'", "GITHUB_ACTIONS=true");
  EXPECT_EQ(broken.exit_code, 3);
  EXPECT_THAT(broken.err, HasSubstr("/a.json,line=2,title=a%3A run::"));
  EXPECT_THAT(run_program("run '" + folder + "/c.json'", "GITHUB_ACTIONS=true").err, IsEmpty());
}

TEST(Github, AnnotatesTheLinesOfAJudgedTrace) {
  const std::string trace = temporary_file("annotated.jsonl", "");
  const std::string scenario = temporary_file("faulty.json", faulty_scenario("faulty"));
  ASSERT_EQ(run_program("run '" + scenario + "' --trace '" + trace + "'").exit_code, 1);
  const ProgramResult judged =
      run_program("judge '" + trace + "' --json --no-timings", "GITHUB_ACTIONS=true");
  EXPECT_EQ(judged.exit_code, 1);
  EXPECT_EQ(nlohmann::json::parse(judged.out).at("summary").at("traces"), 1);
  // The header is line 1, step N line N + 1.
  EXPECT_THAT(judged.err, HasSubstr("annotated.jsonl,line=5,title=faulty%3A running-state-wrong::"
                                    "running-state-wrong: step 4 "));
  EXPECT_THAT(judged.err, HasSubstr("--filter faulty --explain 4"));
}

TEST(Junit, OfASuiteIsReplacedAsAWhole) {
  const std::string folder = mixed_folder();
  const std::string report = temporary_file("suite.xml", "old");
  EXPECT_EQ(run_program("run '" + folder + "' -q --junit '" + report + "'").exit_code, 3);
  EXPECT_THAT(read_file(report), HasSubstr("<testsuite name=\"faulty\""));
  const std::filesystem::path path = report;
  for (const auto& entry : std::filesystem::directory_iterator(path.parent_path()))
    EXPECT_FALSE(entry.path().string().starts_with(report) && entry.path() != path) << entry.path();
}

TEST(Junit, OfOneBrokenScenarioIsWrittenToo) {
  const std::string report = temporary_file("broken.xml", "");
  EXPECT_EQ(run_program("run '" + mixed_folder() + "/a.json' --junit '" + report + "'").exit_code,
            3);
  EXPECT_THAT(read_file(report), HasSubstr("<error type=\"invalid\" message="));
}

TEST(Junit, ThatCannotBeWrittenHasExitCode4) {
  const std::string folder = temporary_folder("unwritten", {{"a.json", fine_scenario("a")}});
  for (const char* target : {"/tmp", "/no/such/folder/r.xml"}) {
    const ProgramResult run = run_program("run '" + folder + "' --junit " + target);
    EXPECT_EQ(run.exit_code, 4) << target;
    EXPECT_THAT(run.err, HasSubstr(std::string("cannot write ") + target));
  }
}

TEST(Progress, OfLessThanTenSecondsIsNotShownWhereNobodyWatches) {
  const ProgramResult run = run_program(
      "run --traffic synthetic --limit 400 --model tiny-gdn "
      "--num-blocks 4096 --no-timings");
  EXPECT_THAT(run.err, Not(HasSubstr("requests finished")));
  EXPECT_THAT(run.err, Not(HasSubstr("\033")));
}

}  // namespace
}  // namespace hybridscope::test::ci_output_test
