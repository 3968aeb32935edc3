#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/cli/program.h"

namespace hybridscope::test::suite_test {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using Json = nlohmann::json;

ProgramResult run_folder(const std::string& folder, const std::string& arguments = "",
                         const std::string& environment = "") {
  return run_program("run '" + folder + "' " + arguments, environment);
}

std::vector<std::string> names_of(const Json& suite) {
  std::vector<std::string> names;
  for (const Json& scenario : suite.at("scenarios")) names.push_back(scenario.at("scenario"));
  return names;
}

std::string fine_folder() {
  return temporary_folder("fine", {{"b.json", fine_scenario("second")},
                                   {"a.json", fine_scenario("first")},
                                   {".hidden.json", "no JSON"},
                                   {"notes.txt", "no scenario"}});
}

TEST(RunSuite, HasALineAScenarioInTheOrderOfTheirFilesAndASummary) {
  const ProgramResult run = run_folder(fine_folder(), "--no-timings");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out,
            "2 scenarios\n"
            "result              steps  findings  scenario\n"
            "ok                      3         0  first\n"
            "ok                      3         0  second\n"
            "\n"
            "2 scenarios: 2 ok; 6 steps, 0 findings, 0 warnings\n");
  EXPECT_THAT(run.err, IsEmpty());
}

TEST(RunSuite, ShippedScenariosAreAllFine) {
  const ProgramResult run = run_folder("scenarios", "--strict --json --no-timings");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json suite = Json::parse(run.out);
  EXPECT_EQ(suite.at("summary").at("results").at("ok"), suite.at("summary").at("found"));
  EXPECT_GE(suite.at("scenarios").size(), 29u);
}

TEST(RunSuite, ABrokenScenarioDoesNotStopTheOthersAndTheWorstExitCodeCounts) {
  const std::string folder = temporary_folder("mixed", {{"a.json", "{\n  broken"},
                                                        {"b.json", faulty_scenario("faulty")},
                                                        {"c.json", unmet_scenario("unmet one")},
                                                        {"d.json", fine_scenario("fine")}});
  const ProgramResult run = run_folder(folder, "no_such_file.json --no-timings");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.out, ContainsRegex("invalid +- +-  a\n    [^\n]*/a.json:2:"));
  EXPECT_THAT(
      run.out,
      ContainsRegex("findings +[0-9]+ +[0-9]+  faulty\n    C's accepted count became 1 when it was "
                    "skipped in step 3; [^\n]*running-state-wrong"));
  EXPECT_THAT(run.out, ContainsRegex("unmet +3 +0  unmet one\n    expectation not met: "));
  EXPECT_THAT(run.out, ContainsRegex("ok +3 +0  fine\n"));
  EXPECT_THAT(run.out, ContainsRegex("invalid +- +-  no_such_file\n"));
  EXPECT_THAT(run.out, HasSubstr("5 scenarios: 1 ok, 1 unmet, 1 findings, 2 invalid; "));
  EXPECT_THAT(run.out, ContainsRegex("reproduce: hybridscope run [^ ]*/b.json --explain [0-9]+\n"));
  std::filesystem::remove(folder + "/a.json");
  EXPECT_EQ(run_folder(folder).exit_code, 1);
}

TEST(RunSuite, TheCommandThatReproducesAFindingShowsIt) {
  const std::string folder = temporary_folder("repro", {{"b.json", faulty_scenario("faulty")}});
  const std::string out = run_folder(folder, "--num-blocks 31").out;
  const std::string mark = "reproduce: hybridscope ";
  const std::size_t at = out.find(mark);
  ASSERT_NE(at, std::string::npos) << out;
  const std::string command = out.substr(at + mark.size(), out.find('\n', at) - at - mark.size());
  EXPECT_THAT(command, HasSubstr("--num-gpu-blocks-override 31"));
  const ProgramResult run = run_program(command);
  EXPECT_EQ(run.exit_code, 1) << command;
  EXPECT_THAT(run.out, HasSubstr("running-state-wrong")) << command;
}

TEST(RunSuite, JsonIsOneDocumentOfAllScenarios) {
  const std::string folder =
      temporary_folder("json", {{"a.json", fine_scenario("first")}, {"b.json", "[]"}});
  const ProgramResult run = run_folder(folder, "--json --no-timings");
  EXPECT_EQ(run.exit_code, 3);
  const Json suite = Json::parse(run.out);
  EXPECT_EQ(suite.at("config").at("paths"), Json::array({folder}));
  EXPECT_EQ(suite.at("summary").at("scenarios"), 2);
  EXPECT_EQ(suite.at("summary").at("exit_code"), 3);
  EXPECT_EQ(suite.at("summary").at("results"), Json::parse(R"({"invalid": 1, "ok": 1})"));
  EXPECT_FALSE(suite.at("summary").contains("wall_seconds"));
  const Json& first = suite.at("scenarios").at(0);
  EXPECT_EQ(first.at("scenario"), "first");
  EXPECT_EQ(first.at("result"), "ok");
  EXPECT_EQ(first.at("summary").at("steps"), 3);
  const Json& second = suite.at("scenarios").at(1);
  EXPECT_EQ(second.at("exit_code"), 3);
  EXPECT_THAT(second.at("error").get<std::string>(), HasSubstr("b.json"));
  EXPECT_THAT(run.err, HasSubstr("b.json"));
}

TEST(RunSuite, JsonLinesNameTheScenarioOfEachStep) {
  const ProgramResult run = run_folder(fine_folder(), "--jsonl --no-timings");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  std::vector<Json> lines;
  std::istringstream text(run.out);
  for (std::string line; std::getline(text, line);) lines.push_back(Json::parse(line));
  ASSERT_EQ(lines.size(), 9u);  // three steps and a result, twice; the summary
  EXPECT_EQ(lines[1].at("scenario"), "first");
  EXPECT_EQ(lines[1].at("step"), 2);
  EXPECT_EQ(lines[3].at("result"), "ok");
  EXPECT_EQ(lines[7].at("scenario"), "second");
  EXPECT_EQ(lines[8].at("summary").at("scenarios"), 2);
  EXPECT_FALSE(lines[8].contains("scenarios"));
}

TEST(RunSuite, TwoRunsWithoutTimingsAreByteIdentical) {
  for (const char* format : {"", "--json", "--jsonl"}) {
    const std::string arguments = std::string("--no-timings ") + format;
    const ProgramResult run = run_folder("scenarios", arguments);
    EXPECT_EQ(run.out, run_folder("scenarios", arguments).out) << format;
  }
}

TEST(RunSuite, QuietTellsOnlyWhatIsNotFine) {
  const std::string folder = temporary_folder(
      "quiet", {{"a.json", fine_scenario("first")}, {"b.json", unmet_scenario("second")}});
  const ProgramResult run = run_folder(folder, "-q --no-timings");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.out, Not(HasSubstr("first")));
  EXPECT_THAT(run.out, ContainsRegex("^unmet +3 +0  second\n"));
}

TEST(RunSuite, AFileNamedTwiceRunsOnce) {
  const std::string folder = fine_folder();
  const ProgramResult run =
      run_program("run '" + folder + "/b.json' '" + folder + "' '" + folder + "/../" +
                  folder.substr(folder.rfind('/') + 1) + "/a.json' --json");
  EXPECT_THAT(names_of(Json::parse(run.out)), ElementsAre("second", "first"));
}

TEST(RunSuite, OneFileIsNoSuite) {
  const std::string file = fine_folder() + "/a.json";
  EXPECT_THAT(run_program("run '" + file + "'").out, HasSubstr("A prefill 0+6"));
  EXPECT_THAT(run_program("run '" + file + "' --shard 1/1").out,
              HasSubstr("1 scenario, shard 1/1 has 1 of them"));
}

TEST(RunSuite, OptionsForOneScenarioAreRefused) {
  for (const char* option : {"--explain 2", "--trace /dev/null", "--twin"}) {
    const ProgramResult run = run_folder("scenarios", option);
    EXPECT_EQ(run.exit_code, 2) << option;
    EXPECT_THAT(run.out, IsEmpty());
    EXPECT_THAT(run.err, HasSubstr(std::string(option).substr(0, std::string(option).find(' ')) +
                                   " is for one scenario"));
  }
  EXPECT_EQ(run_folder("scenarios", "--traffic synthetic").exit_code, 2);
  EXPECT_EQ(run_program("run --traffic synthetic --limit 2 --shard 1/2").exit_code, 2);
  EXPECT_EQ(run_program("run --traffic synthetic --limit 2 --filter a").exit_code, 2);
}

TEST(RunSuite, IsRecordedAsOneSessionAScenario) {
  const std::string folder = fine_folder();
  const std::string file = folder + "/suite.db";
  for (int again = 0; again < 2; ++again) {
    const ProgramResult run = run_folder(folder, "--record '" + file + "'");
    EXPECT_EQ(run.exit_code, 0) << run.err;
    const std::string number = again == 0 ? "" : "-2";
    EXPECT_THAT(run.err, HasSubstr("recorded 3 steps as \"a" + number + "\" in "));
    EXPECT_THAT(run.err, HasSubstr("recorded 3 steps as \"b" + number + "\" in "));
  }
  EXPECT_EQ(run_folder(folder, "--record '" + file + ":name'").exit_code, 2);
  EXPECT_EQ(run_folder(folder, "--record /no/such/folder/f.db").exit_code, 4);
}

TEST(RunSuite, NamesCannotSteerATerminalOrEndALine) {
  const std::string folder =
      temporary_folder("hostile", {{"a.json", fine_scenario("\\u001b[31m\\n::error::x")}});
  const ProgramResult run = run_folder(folder, "--no-timings");
  EXPECT_THAT(run.out, HasSubstr("  \\x1B[31m\\x0A::error::x\n"));
  EXPECT_EQ(Json::parse(run_folder(folder, "--json").out).at("scenarios").at(0).at("scenario"),
            "\x1B[31m\n::error::x");
}

TEST(RunSuite, NothingToRunHasExitCode2AndSaysWhatThereIs) {
  const ProgramResult empty = run_folder(temporary_folder("empty", {}));
  EXPECT_EQ(empty.exit_code, 2);
  EXPECT_THAT(empty.err, HasSubstr("no .json file in"));
  const ProgramResult filtered = run_folder(fine_folder(), "--filter 'thir*'");
  EXPECT_EQ(filtered.exit_code, 2);
  EXPECT_THAT(filtered.err, HasSubstr("matches \"thir*\"; there are\n  first\n  second\n"));
  EXPECT_THAT(filtered.out, IsEmpty());
}

TEST(RunSuite, AFilterTakesNamesOfScenariosAndOfFiles) {
  const std::string folder = fine_folder();
  const auto filtered = [&](const std::string& glob) {
    return names_of(Json::parse(run_folder(folder, "--json --filter '" + glob + "'").out));
  };
  EXPECT_THAT(filtered("f*t"), ElementsAre("first"));
  EXPECT_THAT(filtered("b"), ElementsAre("second"));
  EXPECT_THAT(filtered("[ab]"), ElementsAre("first", "second"));
  EXPECT_THAT(filtered("?econd"), ElementsAre("second"));
}

std::vector<std::string> shard_names(const std::string& folder, int index, int count) {
  const ProgramResult run =
      run_folder(folder, "--json --shard " + std::to_string(index) + "/" + std::to_string(count));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return names_of(Json::parse(run.out));
}

TEST(Sharding, EveryScenarioIsInExactlyOneShard) {
  for (int count = 1; count <= 7; ++count) {
    std::multiset<std::string> names;
    for (int index = 1; index <= count; ++index)
      for (const std::string& name : shard_names("scenarios", index, count)) names.insert(name);
    EXPECT_EQ(names.size(), std::set<std::string>(names.begin(), names.end()).size()) << count;
    EXPECT_GE(names.size(), 29u) << count;
  }
}

TEST(Sharding, AnotherScenarioMovesNone) {
  const std::string folder = temporary_folder(
      "moves", {{"a.json", fine_scenario("one")}, {"b.json", fine_scenario("two")}});
  EXPECT_THAT(shard_names(folder, 1, 5), ElementsAre("one"));
  EXPECT_THAT(shard_names(folder, 5, 5), ElementsAre("two"));
  std::ofstream(folder + "/0.json") << fine_scenario("plain decode");
  std::ofstream(folder + "/c.json") << fine_scenario("stuck");
  EXPECT_THAT(shard_names(folder, 1, 5), ElementsAre("one"));
  EXPECT_THAT(shard_names(folder, 5, 5), ElementsAre("plain decode", "two"));
  EXPECT_THAT(shard_names(folder, 3, 5), ElementsAre("stuck"));
}

TEST(Sharding, AnEmptyShardIsFineAndSaysSo) {
  const ProgramResult run = run_folder(fine_folder(), "--shard 1000/1000");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("shard 1000/1000 is empty: none of 2 scenarios falls into it"));
}

TEST(Sharding, TheEnvironmentCountsWhereTheOptionIsMissing) {
  const std::string folder = temporary_folder(
      "environment", {{"a.json", fine_scenario("one")}, {"b.json", fine_scenario("two")}});
  const auto names = [&](const std::string& arguments, const std::string& environment) {
    return names_of(Json::parse(run_folder(folder, "--json " + arguments, environment).out));
  };
  const std::string gtest = "GTEST_TOTAL_SHARDS=5 GTEST_SHARD_INDEX=4";
  EXPECT_THAT(names("", gtest), ElementsAre("two"));
  EXPECT_THAT(names("", "TEST_TOTAL_SHARDS=5 TEST_SHARD_INDEX=0"), ElementsAre("one"));
  EXPECT_THAT(names("--shard 1/5", gtest), ElementsAre("one"));
}

TEST(Sharding, BazelIsToldThatShardsWork) {
  const std::string status = temporary_file("status", "");
  std::filesystem::remove(status);
  EXPECT_EQ(run_folder(fine_folder(), "", "TEST_SHARD_STATUS_FILE='" + status + "'").exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(status));
}

TEST(Sharding, BadValuesHaveExitCode2) {
  for (const char* shard : {"0/2", "3/2", "2", "a/b", "1/0", "''"}) {
    const ProgramResult run = run_folder("scenarios", std::string("--shard ") + shard);
    EXPECT_EQ(run.exit_code, 2) << shard;
    EXPECT_THAT(run.err, HasSubstr("expected I/N with I from 1 to N")) << shard;
  }
  const ProgramResult half = run_folder("scenarios", "", "GTEST_TOTAL_SHARDS=2");
  EXPECT_EQ(half.exit_code, 2);
  EXPECT_THAT(half.err, HasSubstr("GTEST_SHARD_INDEX is \"\""));
}

}  // namespace
}  // namespace hybridscope::test::suite_test
