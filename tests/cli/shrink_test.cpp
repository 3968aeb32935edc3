// hybridscope shrink.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace hybridscope::test::shrink_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kStarved = "scenarios/starved_request.json";

// A path below a folder of this test alone.
std::string output_path(const std::string& name) {
  return temporary_folder("shrink_" + name, {}) + "/small.json";
}

TEST(Shrink, TellsWhatWasRemovedAndHowToReproduceIt) {
  const std::string file = output_path("tells");
  const ProgramResult shrunk = run_program("shrink " + kStarved + " --engine reference -o " + file);
  EXPECT_EQ(shrunk.exit_code, 0) << shrunk.err;
  EXPECT_THAT(shrunk.out, StartsWith("running-state-wrong: step 4 C row 0 "));
  EXPECT_THAT(shrunk.out, HasSubstr("                   steps  8 -> 5\n"));
  EXPECT_THAT(shrunk.out, HasSubstr("       draws by the seed  4 -> 0\n"));
  EXPECT_THAT(shrunk.out, HasSubstr("nothing more can go\n"));
  EXPECT_THAT(shrunk.out, HasSubstr("reproduce: hybridscope run " + file + "\n"));
  EXPECT_THAT(shrunk.out, HasSubstr("hybridscope run " + file + " --explain 4\n"));
}

TEST(Shrink, TheResultRunsAsItsFileSays) {
  const std::string file = output_path("runs");
  ASSERT_EQ(run_program("shrink " + kStarved + " --engine reference -q -o " + file).exit_code, 0);
  const ProgramResult run = run_program("run " + file + " --json");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("running-state-wrong"));
  // Mended, the expected finding does not occur.
  EXPECT_EQ(run_program("run " + file + " --policies-accepted-count-owner request").exit_code, 1);
}

TEST(Shrink, ThePageShowsWhatItPrints) {
  const ProgramResult shrunk =
      run_program("shrink " + kStarved + " --engine reference -o " + output_path("page"));
  const std::string page = read_file(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/docs/reports.md");
  EXPECT_THAT(page, HasSubstr(shrunk.out.substr(0, shrunk.out.find("written:"))));
}

TEST(Shrink, JsonHasSizesAndTheScenario) {
  const std::string file = output_path("json");
  const ProgramResult shrunk =
      run_program("shrink " + kStarved + " --engine reference --json -o " + file);
  EXPECT_EQ(shrunk.exit_code, 0) << shrunk.err;
  const json result = json::parse(shrunk.out);
  EXPECT_EQ(result["rule"], "running-state-wrong");
  EXPECT_EQ(result["end"], "smallest");
  EXPECT_EQ(result["before"]["output_tokens"], 20);
  EXPECT_EQ(result["after"]["output_tokens"], 7);
  EXPECT_EQ(result["reproduce"], "hybridscope run " + file);
  EXPECT_EQ(result["scenario"], json::parse(read_file(file)));
}

TEST(Shrink, AScenarioOnStandardOutputIsAlone) {
  const ProgramResult shrunk = run_program("shrink " + kStarved + " --engine reference -o -");
  EXPECT_EQ(shrunk.exit_code, 0);
  EXPECT_EQ(json::parse(shrunk.out)["version"], 1);
  EXPECT_THAT(shrunk.err, HasSubstr("nothing more can go"));
}

TEST(Shrink, WithoutAFindingItSaysSo) {
  const ProgramResult none = run_program("shrink " + kStarved);
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_EQ(none.err,
            "hybridscope shrink: scenarios/starved_request.json: no finding of severity error, so "
            "there is nothing to shrink (--rule SLUG shrinks for a warning)\n");
  EXPECT_EQ(none.out, "");
  EXPECT_EQ(run_program("shrink " + kStarved + " --engine reference --rule no-progress").exit_code,
            1);
}

TEST(Shrink, AnUnknownRuleIsRefusedWithTheNearestOne) {
  const ProgramResult refused = run_program("shrink " + kStarved + " --rule label-mismach");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("no rule is called \"label-mismach\", did you mean "
                                     "\"label-mismatch\"? (known: running-state-wrong, "));
}

TEST(Shrink, TheInputIsNotReplaced) {
  const std::string file = temporary_file(
      "shrink_itself.json", read_file(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/" + kStarved));
  const ProgramResult refused = run_program("shrink " + file + " -o " + file);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("this is the scenario " + file));
}

TEST(Shrink, WhatCannotBeReadIsInvalidInput) {
  const ProgramResult missing = run_program("shrink no_such_scenario.json");
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_THAT(missing.err, HasSubstr("no_such_scenario.json"));
  const std::string broken = temporary_file("shrink_broken.json", "{\"version\": 2}");
  EXPECT_THAT(run_program("shrink " + broken).err, HasSubstr("/version: version is 2"));
}

TEST(Shrink, AnImpossibleSettingIsUsage) {
  EXPECT_EQ(run_program("shrink " + kStarved + " --max-num-seqs 0").exit_code, 2);
}

TEST(Shrink, ALimitOfAttemptsIsTold) {
  const ProgramResult shrunk =
      run_program("shrink " + kStarved + " --engine reference --runs 5 -o " + output_path("limit"));
  EXPECT_EQ(shrunk.exit_code, 0);
  EXPECT_THAT(shrunk.out, HasSubstr("5 attempts, the limit (--runs 5): more might go\n"
                                    "written:   " +
                                    output_path("limit") + "\nreproduce: hybridscope run "));
}

TEST(Shrink, ATraceIsCutToTheRequestThatIsWrong) {
  const std::string folder = temporary_folder("shrink_trace", {});
  const std::string trace = folder + "/t.jsonl";
  run_program("run scenarios/skipped_for_a_step.json --engine reference -q --trace " + trace);
  const std::string file = folder + "/small.jsonl.zst";
  const ProgramResult shrunk = run_program("shrink " + trace + " -o " + file);
  EXPECT_EQ(shrunk.exit_code, 0) << shrunk.err;
  EXPECT_THAT(shrunk.out, HasSubstr(" lines up to the finding  6 -> 5\n"));
  EXPECT_THAT(shrunk.out, HasSubstr("                requests  5 -> 1\n"));
  const ProgramResult judged = run_program("judge " + file);
  EXPECT_EQ(judged.exit_code, 1);
  EXPECT_THAT(judged.out, HasSubstr("running-state-wrong: step 5 C row 0"));
}

TEST(Shrink, ATraceTakesNoSettings) {
  const ProgramResult refused = run_program("shrink t.jsonl --engine reference");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--engine is for scenarios"));
}

TEST(Shrink, AttemptsAreANumberThatCanBeMade) {
  for (const std::string runs : {"0", "-1", "1000000001"}) {
    const ProgramResult run = run_program("shrink " + kStarved + " --runs " + runs);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.err, HasSubstr("not in range 1 to 1000000000"));
  }
}

}  // namespace
}  // namespace hybridscope::test::shrink_test
