#include "cli/test_reports.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace hybridscope::junit_report_test {
namespace {

using testing::HasSubstr;

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
}  // namespace hybridscope::junit_report_test
