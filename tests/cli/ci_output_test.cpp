#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/test_reports.h"
#include "tests/cli/program.h"

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

Problem problem(Severity severity, const std::string& text) {
  return {.severity = severity, .type = "label-mismatch", .text = text, .line = 12};
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(Annotations, EscapePercentAndNewlinesAndInPropertiesColonsAndCommasToo) {
  EXPECT_EQ(annotation_data("50 %\r\nof a: b, c"), "50 %25\\x0D%0Aof a: b, c");
  EXPECT_EQ(annotation_property("50 %\r\nof a: b, c"), "50 %25\\x0D%0Aof a%3A b%2C c");
  EXPECT_EQ(annotation_data("%0A"), "%250A");
}

TEST(Annotations, AreOneLineWithFileLineTitleAndTheCommandThatReproduces) {
  const TestedUnit unit{.name = "two, chats",
                        .file = "scenarios/two:chats.json",
                        .command = "hybridscope run scenarios/two:chats.json",
                        .problems = {problem(Severity::error, "label-mismatch: 100 % wrong")}};
  EXPECT_EQ(annotations_text(std::vector{unit}),
            "::error file=scenarios/two%3Achats.json,line=12,title=two%2C chats%3A label-mismatch"
            "::label-mismatch: 100 %25 wrong%0Areproduce: hybridscope run "
            "scenarios/two:chats.json\n");
}

TEST(Annotations, WithoutAFileTheyHaveATitleOnly) {
  const TestedUnit unit{.name = "n", .problems = {problem(Severity::warning, "w")}};
  EXPECT_EQ(annotations_text(std::vector{unit}), "::warning title=n%3A label-mismatch::w\n");
}

TEST(Annotations, TheFirstNineOfEachKindAreShownAndTheRestIsCounted) {
  TestedUnit first{.name = "first"};
  for (int i = 0; i < 8; ++i) first.problems.push_back(problem(Severity::error, "e"));
  first.left_out = {{.severity = Severity::error, .type = "label-mismatch", .count = 1000}};
  TestedUnit second{.name = "second"};
  for (int i = 0; i < 3; ++i) second.problems.push_back(problem(Severity::error, "e"));
  for (int i = 0; i < 10; ++i) second.problems.push_back(problem(Severity::warning, "w"));
  const std::string text = annotations_text(std::vector{first, second});
  EXPECT_EQ(count_of(text, "::error "), 9u);
  EXPECT_EQ(count_of(text, "::warning "), 9u);
  EXPECT_THAT(text, HasSubstr("::notice title=hybridscope::1002 more errors and 1 more warnings"));
}

TEST(Annotations, NineAreNotTooMany) {
  TestedUnit unit{.name = "n"};
  for (int i = 0; i < 9; ++i) unit.problems.push_back(problem(Severity::error, "e"));
  const std::string text = annotations_text(std::vector{unit});
  EXPECT_EQ(count_of(text, "::error "), 9u);
  EXPECT_THAT(text, Not(HasSubstr("::notice")));
}

TEST(Annotations, NoNameOrTextStartsALineOfItsOwn) {
  const TestedUnit unit{.name = "a\n::error::b",
                        .file = "f\n::error::c",
                        .problems = {problem(Severity::error, "d\r\n::error::e")}};
  const std::string text = annotations_text(std::vector{unit});
  EXPECT_EQ(count_of(text, "\n"), 1u);
  EXPECT_EQ(text.back(), '\n');
}

TEST(JunitText, HasCountsPropertiesFailuresErrorsAndSkippedCases) {
  const std::vector<JunitSuite> suites = {
      {.name = "two chats",
       .file = "scenarios/two.json",
       .seconds = 0.25,
       .properties = {{"seed", "7"}},
       .cases = {{.name = "reference-count"},
                 {.name = "label-mismatch",
                  .type = "label-mismatch",
                  .failures = {"block <17> is \"wrong\"", "reproduce: hybridscope run 'a & b'"},
                  .file = "scenarios/two.json",
                  .line = 12}}},
      {.name = "broken",
       .cases = {{.name = "run",
                  .type = "invalid",
                  .failures = {"broken.json:1:2: no JSON"},
                  .problem = JunitProblem::error}}},
      {.name = "late",
       .cases = {{.name = "run",
                  .failures = {"interrupted before it ran"},
                  .problem = JunitProblem::skipped}}}};
  EXPECT_EQ(junit_text(suites), R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="4" failures="1" errors="1" skipped="1" time="0.250">
  <testsuite name="two chats" file="scenarios/two.json" tests="2" failures="1" errors="0" skipped="0" time="0.250">
    <properties>
      <property name="seed" value="7"/>
    </properties>
    <testcase classname="two chats" name="reference-count"/>
    <testcase classname="two chats" name="label-mismatch" file="scenarios/two.json" line="12">
      <failure type="label-mismatch" message="block &lt;17&gt; is &quot;wrong&quot;">block &lt;17&gt; is &quot;wrong&quot;
reproduce: hybridscope run 'a &amp; b'
</failure>
    </testcase>
  </testsuite>
  <testsuite name="broken" tests="1" failures="0" errors="1" skipped="0">
    <testcase classname="broken" name="run">
      <error type="invalid" message="broken.json:1:2: no JSON">broken.json:1:2: no JSON
</error>
    </testcase>
  </testsuite>
  <testsuite name="late" tests="1" failures="0" errors="0" skipped="1">
    <testcase classname="late" name="run">
      <skipped message="interrupted before it ran"/>
    </testcase>
  </testsuite>
</testsuites>
)");
}

TEST(JunitText, IsWellFormedWhateverTheNamesAre) {
  const std::string text = junit_text(std::vector<JunitSuite>{
      {.name = "a\nb\tc\x01\xFF\"<&>", .cases = {{.name = "]]>\xEF\xBF\xBE"}}}});
  EXPECT_THAT(text, HasSubstr(R"(name="a&#10;b&#9;c\x01\xFF&quot;&lt;&amp;&gt;")"));
  EXPECT_THAT(text, HasSubstr("name=\"]]&gt;\xEF\xBF\xBD\""));
}

TestedUnit unit_with(std::vector<Problem> problems) {
  return {.name = "n",
          .file = "n.json",
          .result = "findings",
          .steps = 3,
          .command = "hybridscope run n.json",
          .problems = std::move(problems)};
}

const JunitCase& case_of(const JunitSuite& suite, const std::string& name) {
  for (const JunitCase& test : suite.cases)
    if (test.name == name) return test;
  throw std::out_of_range(name);
}

// A testcase each, where neither bytes nor another engine's memory were looked at.
std::size_t num_rules_on_decisions() {
  return static_cast<std::size_t>(
      std::ranges::count(rule_table(), Evidence::decisions, &RuleInfo::evidence));
}

TEST(JunitSuite, HasATestcaseARuleAndTheCommandOfTheFirstFailureLast) {
  TestedUnit unit = unit_with({{.type = "label-mismatch",
                                .text = "step 4",
                                .line = 7,
                                .command = "hybridscope run n.json --explain 4"},
                               {.type = "label-mismatch", .text = "step 5", .line = 8}});
  unit.left_out = {{.type = "label-mismatch", .count = 30}};
  const JunitSuite suite = junit_suite(unit);
  EXPECT_EQ(suite.cases.size(), num_rules_on_decisions());
  const JunitCase& test = case_of(suite, "label-mismatch");
  EXPECT_THAT(test.failures, testing::ElementsAre("step 4", "step 5", "and 30 more",
                                                  "reproduce: hybridscope run n.json --explain 4"));
  EXPECT_EQ(test.file, "n.json");
  EXPECT_EQ(test.line, 7);
  EXPECT_TRUE(case_of(suite, "reference-count").failures.empty());
}

TEST(JunitSuite, BytesHaveATestcaseWhereTheyWereLookedAt) {
  TestedUnit unit = unit_with({});
  EXPECT_THROW((void)case_of(junit_suite(unit), "state-bytes-wrong"), std::out_of_range);
  unit.in_bytes = true;
  EXPECT_TRUE(case_of(junit_suite(unit), "state-bytes-wrong").failures.empty());
  EXPECT_EQ(junit_suite(unit).cases.size(), num_rules_on_decisions() + 1);
}

TEST(JunitSuite, MemoryHasTestcasesWhereATraceTellsIt) {
  TestedUnit unit = unit_with({});
  EXPECT_THROW((void)case_of(junit_suite(unit), "state-changed"), std::out_of_range);
  unit.in_memory = true;
  EXPECT_TRUE(case_of(junit_suite(unit), "state-changed").failures.empty());
  EXPECT_EQ(junit_suite(unit).cases.size(), num_rules_on_decisions() + 4);
}

TEST(JunitSuite, WarningsDoNotFail) {
  const JunitSuite suite = junit_suite(
      unit_with({{.severity = Severity::warning, .type = "drafts-cut", .text = "step 4"}}));
  EXPECT_TRUE(case_of(suite, "drafts-cut").failures.empty());
}

TEST(JunitSuite, WhatIsNoRuleIsATestcaseOfItsOwn) {
  const JunitSuite suite =
      junit_suite(unit_with({{.type = "expect", .text = "a"}, {.type = "expect", .text = "b"}}));
  EXPECT_EQ(suite.cases.size(), num_rules_on_decisions() + 1);
  EXPECT_EQ(case_of(suite, "expect").failures.size(), 3u);
}

TEST(JunitSuite, WhatDidNotRunHasOneTestcase) {
  TestedUnit broken = unit_with({{.type = "run", .text = "no JSON"}});
  broken.steps = 0;
  broken.result = "invalid";
  broken.broken = "no JSON";
  const JunitSuite errored = junit_suite(broken);
  ASSERT_EQ(errored.cases.size(), 1u);
  EXPECT_EQ(errored.cases[0].problem, JunitProblem::error);
  EXPECT_EQ(errored.cases[0].type, "invalid");

  const JunitSuite skipped = junit_suite({.name = "n", .skipped = "interrupted before it ran"});
  ASSERT_EQ(skipped.cases.size(), 1u);
  EXPECT_EQ(skipped.cases[0].problem, JunitProblem::skipped);
}

TEST(JunitSuite, WhatBrokeOffAfterAStepHasItsRulesToo) {
  TestedUnit unit = unit_with({{.type = "run", .text = "refused"}});
  unit.broken = "refused";
  EXPECT_EQ(junit_suite(unit).cases.size(), num_rules_on_decisions() + 1);
}

}  // namespace

}  // namespace hybridscope::test::ci_output_test
