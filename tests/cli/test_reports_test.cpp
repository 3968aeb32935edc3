#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "cli/test_reports.h"
#include "sessions/job/shared_work.h"
#include "tests/cli/program.h"

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

TestedUnit clean(const std::string& name) {
  return {.name = name, .result = "ok", .steps = 8, .seconds = 0.5};
}

TestedUnit dirty(const std::string& name) {
  return {.name = name,
          .result = "findings",
          .steps = 3,
          .findings = 1,
          .problems = {{.type = "label-mismatch", .text = "step 2: block 17"}}};
}

TEST(StepSummary, IsATableWithProblemsFirst) {
  EXPECT_EQ(step_summary_text("hybridscope run", std::vector{clean("a"), dirty("b")}, 1 << 20),
            "### hybridscope run: 1 of 2 without a problem\n\n"
            "| result | name | steps | findings | seconds | first problem |\n"
            "|---|---|---:|---:|---:|---|\n"
            "| findings | b | 3 | 1 |  | step 2: block 17 |\n"
            "| ok | a | 8 | 0 | 0.50 |  |\n\n");
}

TEST(StepSummary, CellsHoldNoMarkupOfTheirOwn) {
  const std::string text =
      step_summary_text("t", std::vector{clean("a|b\n<script> [x](y) `c`")}, 1 << 20);
  EXPECT_THAT(text, HasSubstr("| a\\|b\\\\x0A&lt;script> \\[x\\](y) \\`c\\` |"));
}

TEST(StepSummary, IsCutAtTheLimitAndSaysHowManyRowsAreMissing) {
  std::vector<TestedUnit> units;
  for (int i = 0; i < 100; ++i) units.push_back(clean("scenario " + std::to_string(i)));
  units.push_back(dirty("the only one"));
  const std::string text = step_summary_text("t", units, 1000);
  EXPECT_LE(text.size(), 1000u);
  EXPECT_THAT(text, HasSubstr("the only one"));
  EXPECT_THAT(text, testing::ContainsRegex("\n[0-9]+ of 101 rows are cut"));
  EXPECT_EQ(step_summary_text("t", units, 100), "");
}

TEST(StepSummary, IsAppendedAndWhatIsThereCountsForTheLimit) {
  const std::string path = test::temporary_file("summary.md", "before\n");
  ASSERT_TRUE(append_step_summary(path, "t", std::vector{clean("a")}).ok());
  std::ifstream in(path);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  EXPECT_THAT(text, testing::StartsWith("before\n### t: 1 of 1"));

  const std::string full = test::temporary_file("full.md", std::string(kMaxStepSummaryBytes, 'x'));
  ASSERT_TRUE(append_step_summary(full, "t", std::vector{clean("a")}).ok());
  std::ifstream again(full, std::ios::ate);
  EXPECT_EQ(static_cast<std::size_t>(again.tellg()), kMaxStepSummaryBytes);
  EXPECT_FALSE(append_step_summary("/no/such/folder/s.md", "t", std::vector{clean("a")}).ok());
}

EnvironmentLookup lookup_of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) {
    const auto it = variables.find(name);
    return it == variables.end() ? std::string() : it->second;
  };
}

TEST(Shard, FollowsFromTheNameAloneAndIsTheSameOnEveryMachine) {
  EXPECT_EQ(shard_of("plain decode", 1), 1);
  EXPECT_EQ(shard_of("plain decode", 3), 3);
  EXPECT_EQ(shard_of("plain decode", 5), 5);
  EXPECT_EQ(shard_of("v2 slots", 2), 2);
  EXPECT_EQ(shard_of("v2 slots", 7), 6);
  EXPECT_EQ(shard_of("align boundary by decode", 7), 7);
}

TEST(Shard, EveryShardOfAThousandNamesIsUsed) {
  std::map<std::int64_t, int> names;
  for (int i = 0; i < 1000; ++i) ++names[shard_of("scenario " + std::to_string(i), 7)];
  ASSERT_EQ(names.size(), 7u);
  for (const auto& [shard, count] : names) {
    EXPECT_GE(shard, 1);
    EXPECT_LE(shard, 7);
    EXPECT_GT(count, 100) << shard;  // 143 each if they were even
  }
}

TEST(Shard, IsWrittenAsIOfN) {
  EXPECT_EQ(parse_shard("2/7").value(), (Shard{.index = 2, .count = 7}));
  EXPECT_EQ(parse_shard("1/1").value(), (Shard{.index = 1, .count = 1}));
  EXPECT_EQ(shard_text({.index = 2, .count = 7}), "2/7");
}

TEST(Shard, AnythingElseIsRefusedWithWhatIsExpected) {
  for (const char* text : {"", "/", "1", "0/2", "3/2", "-1/2", "1/0", "1/-2", "+1/2", "1/2/3",
                           "1 /2", "1/2 ", "0x1/2", "1/9999999", "99999999999999999999/2"}) {
    const auto shard = parse_shard(text);
    ASSERT_FALSE(shard.ok()) << text;
    EXPECT_THAT(shard.error().message, HasSubstr("expected I/N with I from 1 to N")) << text;
  }
}

TEST(Shard, EnvironmentOfGoogleTestAndBazelCountsFromZero) {
  EXPECT_EQ(
      shard_of_environment(lookup_of({{"GTEST_TOTAL_SHARDS", "4"}, {"GTEST_SHARD_INDEX", "0"}}))
          .value(),
      (Shard{.index = 1, .count = 4}));
  EXPECT_EQ(shard_of_environment(lookup_of({{"TEST_TOTAL_SHARDS", "4"}, {"TEST_SHARD_INDEX", "3"}}))
                .value(),
            (Shard{.index = 4, .count = 4}));
  EXPECT_EQ(shard_of_environment(lookup_of({})).value(), std::nullopt);
}

TEST(Shard, GoogleTestsVariablesComeBeforeThoseOfBazel) {
  EXPECT_EQ(shard_of_environment(lookup_of({{"GTEST_TOTAL_SHARDS", "2"},
                                            {"GTEST_SHARD_INDEX", "1"},
                                            {"TEST_TOTAL_SHARDS", "3"},
                                            {"TEST_SHARD_INDEX", "0"}}))
                .value(),
            (Shard{.index = 2, .count = 2}));
}

TEST(Shard, HalfAnEnvironmentAndIndicesOutOfRangeAreRefused) {
  using Variables = std::map<std::string, std::string>;
  for (const Variables& variables :
       {Variables{{"GTEST_TOTAL_SHARDS", "4"}}, Variables{{"GTEST_SHARD_INDEX", "0"}},
        Variables{{"GTEST_TOTAL_SHARDS", "4"}, {"GTEST_SHARD_INDEX", "4"}},
        Variables{{"GTEST_TOTAL_SHARDS", "0"}, {"GTEST_SHARD_INDEX", "0"}},
        Variables{{"GTEST_TOTAL_SHARDS", "two"}, {"GTEST_SHARD_INDEX", "0"}},
        Variables{{"GTEST_TOTAL_SHARDS", "2"}, {"GTEST_SHARD_INDEX", "-1"}}}) {
    const auto shard = shard_of_environment(lookup_of(variables));
    ASSERT_FALSE(shard.ok());
    EXPECT_THAT(shard.error().message, HasSubstr("GTEST_SHARD_INDEX is"));
  }
}

}  // namespace

}  // namespace hybridscope::test::test_reports_test
