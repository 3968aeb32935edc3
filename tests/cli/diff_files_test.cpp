// `hybridscope diff A.db B.db`: sessions of two files, paired by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/program.h"
#include "tests/cli/suite_scenarios.h"
#include "tests/storage/recorded_run.h"

namespace hybridscope::test::diff_files_test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

class TwoFiles : public testing::Test {
 protected:
  // The session of a run in which so many tokens of A are accepted in step 2.
  void record(const std::string& file, const std::string& name, std::int32_t accepted) {
    RunPlan plan = shipped_scenario("align_boundary_by_accepted_drafts");
    plan.script.front().accept.front().count = accepted;
    ASSERT_TRUE(record_run(plan, {.place = {folder_ / file, name}}).ok());
  }
  ProgramResult diff(const std::string& options = "") {
    return run_program("diff " + a_ + " " + b_ + " " + options);
  }

  TemporaryFolder folder_;
  std::string a_ = folder_ / "a.db";
  std::string b_ = folder_ / "b.db";
};

TEST_F(TwoFiles, EachPairIsInTheTableAndWhatOnlyOneFileHas) {
  record("a.db", "first", 2);
  record("a.db", "second", 2);
  record("a.db", "dropped", 2);
  record("b.db", "added", 2);
  record("b.db", "second", 1);
  record("b.db", "first", 2);
  const ProgramResult result = diff();
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.out,
              HasSubstr("\nsecond: decisions differ, first in step 2\n  hybridscope diff " + a_ +
                        ":second " + b_ + ":second\n"));
  EXPECT_THAT(
      result.out,
      testing::EndsWith("\nsession  result            first step\n"
                        "first    same\n"
                        "second   decisions differ           2\n"
                        "dropped  only in A\n"
                        "added    only in B\n"
                        "\n"
                        "4 sessions: 1 same, 1 decisions differ, 1 only in A, 1 only in B\n"));
  const Json json = Json::parse(diff("--json").out);
  EXPECT_EQ(json.at("sessions").at(1).at("result"), "decisions differ");
  EXPECT_EQ(json.at("sessions").at(1).at("difference").at("first_divergence").at("step"), 2);
  EXPECT_EQ(json.at("results"), Json::parse(R"({"same": 1, "decisions differ": 1, "only in A": 1,
                                               "only in B": 1})"));
}

TEST_F(TwoFiles, EqualFilesAreExitCode0) {
  for (const char* name : {"first", "second"}) {
    record("a.db", name, 2);
    record("b.db", name, 2);
  }
  const ProgramResult result = diff();
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("\n2 sessions: 2 same\n"));
}

TEST_F(TwoFiles, TheCommandOfAPairHasTheOptionsThatWereGiven) {
  for (const char* file : {"a.db", "b.db"}) {
    record(file, "it's {one}", file[0] == 'a' ? 2 : 1);
    record(file, "two", 2);
  }
  const std::string quoted = ":it'\\''s {one}' ";
  const std::string pair = "  hybridscope diff '" + a_ + quoted + "'" + b_ + quoted;
  EXPECT_THAT(diff().out, HasSubstr(pair.substr(0, pair.size() - 1) + "\n"));
  EXPECT_THAT(diff("--ignore blocks --ignore 'request:a b' --limit 5 --all").out,
              HasSubstr(pair + "--ignore blocks --ignore 'request:a b' --limit 5 --all\n"));
  const ProgramResult requests = diff("--requests");
  EXPECT_THAT(requests.out, HasSubstr(pair + "--requests\n"));
  EXPECT_THAT(requests.out, ContainsRegex("\nit's \\{one\\}: totals differ, [0-9]+ differences? of "
                                          "what requests got in all\n"));
}

TEST_F(TwoFiles, FindingsAloneAreNoOtherDecisions) {
  const std::string scenario = temporary_file("faulty.json", faulty_scenario("faulty"));
  for (const char* name : {":first", ":second"})
    run_program("run -q " + scenario + " --record " + a_ + name);
  std::filesystem::copy_file(a_, b_);
  execute(b_, "DELETE FROM findings WHERE session = 1 AND step = 4");
  execute(b_, "UPDATE digests SET findings = findings + 1 WHERE session = 1 AND step = 4");
  const ProgramResult result = diff();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("\nfirst: findings differ, first in step 4\n"));
  EXPECT_THAT(result.out, HasSubstr("\nfirst    findings differ           4\n"));
  EXPECT_THAT(result.out, HasSubstr("\n2 sessions: 1 same, 1 findings differ\n"));
}

TEST_F(TwoFiles, OneSessionEachIsComparedWhateverItsName) {
  record("a.db", "before", 2);
  record("b.db", "after", 2);
  const ProgramResult result = diff();
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("No difference."));
}

TEST_F(TwoFiles, WhatIsForTwoSessionsIsRefused) {
  record("a.db", "first", 2);
  record("a.db", "second", 2);
  record("b.db", "first", 2);
  for (const std::string& option : {std::string("--first"), "--html " + folder_ / "page.html"}) {
    const ProgramResult result = diff(option);
    EXPECT_EQ(result.exit_code, 2) << option;
    EXPECT_THAT(result.err, HasSubstr(" is for two sessions: name them")) << option;
  }
}

TEST(DiffOfWords, ASessionThatKeepsNoWordsIsNotTheSame) {
  const TemporaryFolder folder;
  const std::string suite =
      "run scenarios/plain_decode.json scenarios/graph_padding.json "
      "--weights scenarios/models/jargon-gdn --model tiny-gdn --record ";
  for (const char* file : {"a.db", "b.db"}) {
    const ProgramResult run = run_program(suite + folder / file);
    EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  }
  const std::string a = folder / "a.db:plain_decode";
  const std::string both = "diff " + a + " " + folder / "b.db:plain_decode";
  EXPECT_THAT(run_program(both).out, HasSubstr("The language model says the same in both."));
  EXPECT_THAT(run_program("sessions show " + a).out, Not(HasSubstr("none of its words are kept")));
  execute(folder / "b.db", "DELETE FROM speech");
  const ProgramResult one = run_program(both);
  EXPECT_THAT(one.out, Not(HasSubstr("says the same")));
  EXPECT_THAT(one.out,
              HasSubstr("B keeps no words of the language model: texts are not compared.\n"));
  EXPECT_THAT(run_program("sessions show " + folder / "b.db:plain_decode").out,
              HasSubstr("none of its words are kept\n"));
  EXPECT_THAT(run_program("diff " + folder / "a.db" + " " + folder / "b.db").out,
              HasSubstr("\n2 pairs: B keeps no words of the language model: texts are not "
                        "compared.\n"));
}

}  // namespace
}  // namespace hybridscope::test::diff_files_test
