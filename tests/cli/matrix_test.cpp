// hybridscope matrix.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace hybridscope::test::matrix_test {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Four cells.
const std::string kCells =
    " --only mode=align --only speculation=mtp2 --only prefix_caching=on --only layout=SD "
    "--only runner=v1 --only scheduling=sync --only graphs=full_and_piecewise "
    "--only retention=dense --only match_unit=block --only checkpoints=none";

// Shrinking takes most of the time of a matrix with faults: one of them will do.
const std::string kOneFault = " --engine safe --policy no_draft_step=column_zero";

std::string folder_of(const std::string& name) { return temporary_folder("matrix_" + name, {}); }

std::string matrix_in(const std::string& folder) { return "matrix -o " + folder + kCells; }

TEST(Matrix, AsksForAnEngine) {
  const ProgramResult asked = run_program("matrix");
  EXPECT_EQ(asked.exit_code, 2);
  EXPECT_THAT(asked.err, HasSubstr("which engine? give --engine safe, reference, vllm-0.24.0, "));
}

TEST(Matrix, NamesThatAreNoneAreToldWithTheNearest) {
  const ProgramResult engine = run_program("matrix --engine sfae");
  EXPECT_EQ(engine.exit_code, 2);
  EXPECT_THAT(engine.err, HasSubstr("there is no profile \"sfae\", did you mean \"safe\"?"));
  const ProgramResult axis = run_program("matrix --engine safe --only mdoe=align");
  EXPECT_EQ(axis.exit_code, 2);
  EXPECT_THAT(axis.err, HasSubstr("there is no axis \"mdoe\", did you mean \"mode\"?"));
  const ProgramResult policy =
      run_program("matrix --engine safe --policy no_draft_stpe=column_zero");
  EXPECT_EQ(policy.exit_code, 2);
  EXPECT_THAT(policy.err, HasSubstr("did you mean \"no_draft_step\"?"));
}

TEST(Matrix, ASelectionWithNothingToRunIsAMistake) {
  const ProgramResult run =
      run_program("matrix --engine safe --only mode=none --only prefix_caching=on");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("nothing to run: of 9,600 cells selected, each is refused or the "
                                 "same as another"));
}

TEST(Matrix, ASeedIsAWholeNumber) {
  for (const std::string seed : {"-1", "1.5", "99999999999999999999"}) {
    const ProgramResult run = run_program("matrix --engine safe --seed " + seed);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.err, HasSubstr("expected an integer from 0 to 9223372036854775807, found \"" +
                                   seed + "\""));
  }
}

TEST(Matrix, WithFewScenariosACellWithoutAFindingIsNotCalledSafe) {
  const std::string folder = folder_of("few");
  const std::string page = folder + ".html";
  const std::string command = matrix_in(folder) + " --engine safe --scenarios 4 --html " + page;
  const std::string out = run_program(command).out;
  EXPECT_THAT(out, StartsWith("matrix of safe: 16 scenarios, 4 a cell, 0 with errors; "));
  EXPECT_THAT(out, HasSubstr(" with no finding in 4, 0 with findings, "));
  EXPECT_THAT(out, Not(HasSubstr(" safe,")));
  EXPECT_THAT(read_file(page),
              HasSubstr("<span class=\"safe\">s</span>with no finding in 4 <span"));
  const json report = json::parse(run_program(command + " --json").out);
  EXPECT_EQ(report.at("scenarios_per_cell"), 4);
  EXPECT_EQ(report.at("safe_means"), "with no finding in 4");
}

TEST(Matrix, ASafeEngineHasOnlySafeCells) {
  const std::string folder = folder_of("safe");
  const ProgramResult run = run_program(matrix_in(folder) + " --engine safe --scenarios 40");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith("matrix of safe: 160 scenarios, 40 a cell, 0 with errors; "));
  EXPECT_THAT(run.out, HasSubstr("\nstate in bytes as well in 20 scenarios\n"));
  EXPECT_THAT(run.out,
              HasSubstr("\n4 cells run: 4 with no finding in 40, 0 with findings, 0 untested; "));
  EXPECT_THAT(run.out, HasSubstr("\nno findings\n"));
  EXPECT_THAT(run.out, HasSubstr("not modelled: connectors, pipeline parallelism"));
}

TEST(Matrix, ItsScenariosAreWrittenAsFilesThatRunAlone) {
  const std::string folder = folder_of("scenarios") + "/new";
  const ProgramResult written =
      run_program("matrix --engine reference --scenarios 2 --write-scenarios " + folder + kCells);
  EXPECT_EQ(written.exit_code, 0) << written.err;
  EXPECT_EQ(written.out, "8 scenarios in " + folder + "\n");
  const std::string file =
      folder + "/align-mtp2-on-SD-v1-sync-full_and_piecewise-preemption-dense-block-none-1.json";
  const ProgramResult run = run_program("run --json --no-timings " + file);
  EXPECT_THAT(run.exit_code, testing::AnyOf(0, 1)) << run.err;
  const json report = json::parse(run.out);
  EXPECT_EQ(report["config"]["name"],
            "align/mtp2/on/SD/v1/sync/full_and_piecewise/preemption/dense/block/none 1");
  EXPECT_EQ(report["config"]["profile"], "reference");
}

TEST(Matrix, FindingsAreToldWithWhereTheyShowAndAScenario) {
  const std::string folder = folder_of("faults");
  const std::string page = folder + "/page.html";
  const ProgramResult run =
      run_program(matrix_in(folder) + kOneFault + " --scenarios 12 --html " + page);
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\nno-draft-step-reads-column-zero (4 cells, running-state-wrong)"
                                 "\n    every value of every axis\n"));
  const std::string scenario = folder + "/faults/no-draft-step-reads-column-zero.json";
  EXPECT_THAT(run.out, HasSubstr("hybridscope run " + scenario + "\n"));
  const ProgramResult again = run_program("run " + scenario);
  EXPECT_EQ(again.exit_code, 0) << again.err;  // the file expects what it shows
  EXPECT_THAT(again.out, HasSubstr("running-state-wrong"));
  EXPECT_THAT(read_file(page),
              HasSubstr("<a href=\"faults/no-draft-step-reads-column-zero.json\">"));
}

TEST(Matrix, TheSameCommandGoesOnAndAnotherMatrixIsRefused) {
  const std::string folder = folder_of("again");
  const std::string command = matrix_in(folder) + " --engine safe --scenarios 12";
  const ProgramResult first = run_program(command);
  const std::string results = read_file(folder + "/matrix.jsonl");
  const ProgramResult second = run_program(command);
  EXPECT_EQ(first.out, second.out);
  EXPECT_EQ(read_file(folder + "/matrix.jsonl"), results);
  EXPECT_THAT(first.err, Not(HasSubstr("already")));
  EXPECT_THAT(second.err, ContainsRegex(": 4 of 4 cells were there already, the last written "
                                        "[0-9-]+ [0-9:]+ UTC; nothing was run\n"));
  const ProgramResult other = run_program(command + " --seed 2");
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_THAT(other.err, HasSubstr("has a matrix of another seed: 1, not 2 (give another --out)"));
}

TEST(Matrix, ResultsOfAnotherBuildAreRefused) {
  const std::string folder = folder_of("build");
  const std::string command = matrix_in(folder) + " --engine safe --scenarios 12";
  EXPECT_EQ(run_program(command).exit_code, 0);
  std::string results = read_file(folder + "/matrix.jsonl");
  const std::size_t build = results.find("(build ");
  ASSERT_NE(build, std::string::npos);
  results.replace(build + 7, 16, "0123456789abcdef");
  std::ofstream(folder + "/matrix.jsonl", std::ios::binary) << results;
  const ProgramResult other = run_program(command);
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_THAT(other.err, ContainsRegex("has a matrix of another build of hybridscope: hybridscope "
                                       "[0-9.]+ \\(build 0123456789abcdef\\), not "));
  EXPECT_EQ(read_file(folder + "/matrix.jsonl"), results);
}

TEST(Matrix, CellsThatAReleaseLacksAreLeftOut) {
  const std::string command = " --only mode=all --scenarios 1 --labels-only --no-shrink --out ";
  const ProgramResult gone =
      run_program("matrix --engine vllm-0.32.0" + command + folder_of("gone"));
  EXPECT_EQ(gone.exit_code, 2);
  EXPECT_THAT(gone.err, HasSubstr("nothing to run: of 0 cells selected"));
}

// Releases that free a state only when its frame has returned need more blocks than others.
TEST(Matrix, ScenariosUnderPreemptionFitThePoolInEveryRelease) {
  const ProgramResult run = run_program(
      "matrix --engine vllm-0.33.0 --only mode=align --only layout=SD --only runner=v1 "
      "--only scheduling=async --only graphs=none --only speculation=none "
      "--only pressure=preemption --only retention=dense --only match_unit=block "
      "--only checkpoints=none "
      "--scenarios 20 --labels-only --no-shrink -o " +
      folder_of("fits"));
  EXPECT_THAT(run.exit_code, testing::AnyOf(0, 1)) << run.err;
  EXPECT_THAT(run.out, HasSubstr("20 scenarios"));
}

TEST(Matrix, ShardsMergeToTheSameAnswer) {
  const std::string folder = folder_of("shards");
  const auto run = [&](const std::string& name, const std::string& shard) {
    return run_program("matrix -o " + folder + "/" + name + kCells + kOneFault +
                       " --scenarios 3 --json" + shard);
  };
  const json whole = json::parse(run("whole", "").out);
  run("one", " --no-shrink --shard 1/2");
  run("two", " --no-shrink --shard 2/2");
  const ProgramResult merged =
      run_program("matrix --json --merge " + folder + "/one " + folder + "/two -o " + folder +
                  "/merged --html " + folder + "/merged/page.html");
  EXPECT_EQ(merged.exit_code, 1) << merged.err;
  const json all = json::parse(merged.out);
  EXPECT_EQ(all["cells"], whole["cells"]);
  EXPECT_EQ(all["results"], whole["results"]);
  EXPECT_EQ(all["events"], whole["events"]);
  EXPECT_EQ(all["faults"], whole["faults"]);
  for (const json& fault : all["faults"]) {
    if (!fault.contains("file")) continue;
    const std::string file = fault["file"].get<std::string>();
    EXPECT_EQ(read_file(folder + "/merged/" + file), read_file(folder + "/whole/" + file));
  }
  const std::string results = read_file(folder + "/merged/matrix.jsonl");
  EXPECT_EQ(run_program("matrix -q --merge " + folder + "/one " + folder + "/two -o " + folder +
                        "/merged")
                .exit_code,
            1);
  EXPECT_EQ(read_file(folder + "/merged/matrix.jsonl"), results);
}

TEST(Matrix, ShardsMergedInPlaceTellEachScenarioWhereItLies) {
  const std::string folder = folder_of("in_place");
  for (const std::string shard : {"1", "2"})
    run_program("matrix -q -o " + folder + "/" + shard + kCells + kOneFault +
                " --scenarios 3 --shard " + shard + "/2");
  const ProgramResult merged = run_program("matrix --json --merge " + folder + "/1 " + folder +
                                           "/2 --html " + folder + "/page.html");
  EXPECT_EQ(merged.exit_code, 1) << merged.err;
  const json all = json::parse(merged.out);
  std::size_t files = 0;
  for (const json& fault : all["faults"]) {
    if (!fault.contains("file")) continue;
    const std::string file = fault["file"].get<std::string>();
    EXPECT_TRUE(std::filesystem::exists(file)) << file;
    EXPECT_THAT(read_file(folder + "/page.html"),
                HasSubstr("href=\"" + file.substr(folder.size() + 1) + "\""));
    ++files;
  }
  EXPECT_EQ(files, 1U);
  const ProgramResult missing = run_program("matrix --merge " + folder + "/1");
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.out, HasSubstr(" not run: they are in none of these folders\n"));
}

TEST(Matrix, AMergeThatCannotBeLeavesNoFolder) {
  const std::string folder = folder_of("no_merge");
  run_program("matrix -q -o " + folder + "/1" + kCells + " --engine safe --scenarios 1");
  const ProgramResult merged =
      run_program("matrix --merge " + folder + "/1 " + folder + "/none -o " + folder + "/all");
  EXPECT_EQ(merged.exit_code, 3);
  EXPECT_THAT(merged.err, HasSubstr(folder + "/none has no matrix"));
  EXPECT_FALSE(std::filesystem::exists(folder + "/all"));
}

TEST(Matrix, OptionsThatWouldMeanNothingAreMistakes) {
  for (const std::string options :
       {"--merge a --only mode=all", "--merge a --policy no_draft_step=column_zero",
        "--merge a --scenarios 3", "--merge a --seed 3", "--merge a --labels-only",
        "--write-scenarios '' --engine safe", "--write-scenarios a --engine safe --json",
        "--write-scenarios a --engine safe -o b", "--list --engine safe", "--out '' --engine safe",
        "--engine safe --html - --json"})
    EXPECT_EQ(run_program("matrix " + options).exit_code, 2) << options;
  EXPECT_EQ(run_program("matrix --merge a --seed 3").err,
            "hybridscope matrix: --seed does not go with --merge\n");
}

TEST(Matrix, APageThatCannotBeWrittenIsToldBeforeTheWork) {
  const std::string folder = folder_of("no_page");
  const ProgramResult run =
      run_program(matrix_in(folder + "/m") + " --engine safe --html " + folder + "/none/page.html");
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.err, HasSubstr("none/page.html"));
  EXPECT_THAT(read_file(folder + "/m/matrix.jsonl"), Not(HasSubstr("\"cell\"")));
}

TEST(Matrix, PoliciesAreTheSameInAnyOrder) {
  const std::string folder = folder_of("order");
  const std::string command = matrix_in(folder) + " --engine safe --scenarios 1 --no-shrink -q ";
  const std::string a = "--policy no_draft_step=column_zero ";
  const std::string b = "--policy mamba_eagle_lookahead=none ";
  run_program(command + a + b);
  const std::string results = read_file(folder + "/matrix.jsonl");
  const ProgramResult again = run_program(command + b + a + a);
  EXPECT_NE(again.exit_code, 3) << again.err;
  EXPECT_EQ(read_file(folder + "/matrix.jsonl"), results);
}

TEST(Matrix, OnePolicyCanBeAskedAbout) {
  const ProgramResult run = run_program(matrix_in(folder_of("policy")) +
                                        " --engine safe --policy no_draft_step=column_zero "
                                        "--scenarios 12 --labels-only --no-shrink");
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_THAT(run.out, StartsWith("matrix of safe with no_draft_step=column_zero: 48 scenarios"));
  EXPECT_THAT(run.out, HasSubstr("\nno-draft-step-reads-column-zero (4 cells, "));
  EXPECT_THAT(run.out, HasSubstr("\n    every value of every axis\n"));
  EXPECT_THAT(run.out, Not(HasSubstr("unexplained")));
  EXPECT_THAT(run.out, Not(HasSubstr("state in bytes")));
}

TEST(Matrix, ListsAxesEventsAndWhatIsNotModelled) {
  const ProgramResult list = run_program("matrix --list");
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_THAT(list.out, HasSubstr("speculation     none, mtp1, mtp2, mtp3, ngram"));
  EXPECT_THAT(list.out, HasSubstr("frames_rolled_back"));
  EXPECT_THAT(list.out, HasSubstr("pipeline parallelism"));
  const json listed = json::parse(run_program("matrix --list --json").out);
  EXPECT_EQ(listed["axes"][4]["values"], json({"v1", "v2"}));
  EXPECT_EQ(listed["events"]["row_moves"], "rows that moved in the batch");
  EXPECT_TRUE(listed["not_modelled"].contains("connectors"));
}

}  // namespace
}  // namespace hybridscope::test::matrix_test
