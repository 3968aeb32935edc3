// How a user finds the right command: --help, the pages that show it, and what a command answers to
// a file of another command.
#include <gmock/gmock.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "tests/cli/program.h"

namespace hybridscope::test::help_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

std::size_t num_found(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++count;
  return count;
}

TEST(Help, OfEveryCommandNamesTheExitCodesThatAllHaveOnce) {
  for (const ProgramCommand& command : program_commands()) {
    const std::string help = run_program(std::string(command.name) + " --help").out;
    EXPECT_THAT(help, HasSubstr("\nExit codes of every command: 5 a bug of hybridscope, 130 "
                                "interrupted (Ctrl-C, SIGTERM, SIGHUP).\n"))
        << command.name;
    EXPECT_THAT(help, HasSubstr("Exit codes: 0 ")) << command.name;
    EXPECT_EQ(num_found(help, "130"), 1U) << command.name;
    EXPECT_EQ(num_found(help, "a bug of hybridscope"), 1U) << command.name;
  }
  EXPECT_THAT(run_program("sessions list --help").out, HasSubstr("130 interrupted"));
}

TEST(Help, WithoutArgumentsIsTheOverview) {
  const ProgramResult alone = run_program("");
  EXPECT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_EQ(alone.out, run_program("--help").out);
  EXPECT_EQ(alone.err, "");
  // Options without a command are wrong usage still.
  EXPECT_EQ(run_program("--engine safe").exit_code, 2);
}

// "run", "sessions list": every command and every command in it, as the program has them.
std::vector<std::string> all_commands() {
  std::vector<std::string> names;
  const Backends backends;
  for (const ProgramCommand& command : program_commands()) {
    CLI::App app;
    command.add(app, backends);
    names.emplace_back(command.name);
    for (const CLI::App* inner : app.get_subcommands([](const CLI::App*) { return true; }))
      names.push_back(command.name + (" " + inner->get_name()));
  }
  return names;
}

TEST(Help, OfEveryCommandAndSubcommandHasExamplesOfItAndItsExitCodes) {
  const std::vector<std::string> names = all_commands();
  EXPECT_EQ(names.size(), 36U);
  for (const std::string& name : names) {
    const std::string help = run_program(name + " --help").out;
    EXPECT_THAT(help, testing::ContainsRegex("\nExamples?:\n")) << name;
    EXPECT_THAT(help, HasSubstr("\n  hybridscope " + name.substr(0, name.find(' ')))) << name;
    if (name.find(' ') != name.npos) EXPECT_THAT(help, HasSubstr(" hybridscope " + name)) << name;
    EXPECT_THAT(help, HasSubstr("Exit codes: 0 ")) << name;
    EXPECT_THAT(help, HasSubstr("130 interrupted")) << name;
  }
}

TEST(Help, NamesChoicesOnce) {
  EXPECT_THAT(run_program("run --help").out, HasSubstr("--check step|all   "));
  EXPECT_THAT(run_program("export --help").out, Not(HasSubstr("{step,all}")));
  EXPECT_THAT(run_program("run --help").out, HasSubstr("(only 1; default: 1)"));
}

TEST(Help, SaysWhatAnOptionNeeds) {
  EXPECT_THAT(run_program("gui --help").out,
              HasSubstr("--record FILE.db[:NAME] Needs: --attach\n"));
}

TEST(Misuse, NamesItsCommandAndWhereItsOptionsAre) {
  EXPECT_EQ(run_program("matrix --jobs x").err,
            "hybridscope matrix: --jobs: Value x not in range 1 to 1024\n"
            "hybridscope matrix --help lists what it takes\n");
  EXPECT_EQ(run_program("sessions list").err,
            "hybridscope sessions list: file is required\n"
            "hybridscope sessions list --help lists what it takes\n");
}

TEST(Help, SaysWhetherAValueIsAStepOrANumberOfSteps) {
  const std::string show = run_program("sessions show --help").out;
  EXPECT_THAT(show, HasSubstr("--step STEP:a step from 1 on"));
  EXPECT_THAT(show, HasSubstr("--limit N:a number from 1 on"));
  EXPECT_THAT(run_program("sessions bookmark --help").out,
              HasSubstr("--step STEP:a step from 1 on"));
  EXPECT_THAT(run_program("sessions fork --help").out, HasSubstr("--at STEP:a step from 1 on"));
}

TEST(Help, SaysWhatAFileOrAPlaceIsAndWhetherItCanBeStandardOutput) {
  const std::string diff = run_program("diff --help").out;
  EXPECT_THAT(diff, HasSubstr("--scenario SCENARIO.json"));
  EXPECT_THAT(diff, HasSubstr("--engine PROFILE ..."));
  EXPECT_THAT(diff, HasSubstr("--html FILE|-"));
  const std::string matrix = run_program("matrix --help").out;
  EXPECT_THAT(matrix, HasSubstr("--html FILE|-"));
  EXPECT_THAT(matrix, HasSubstr("--merge DIR ..."));
  EXPECT_THAT(run_program("sessions delete --help").out,
              HasSubstr("session FILE.db:NAME REQUIRED"));
  EXPECT_THAT(run_program("conformance --help").out, HasSubstr("--junit FILE|-"));
  EXPECT_THAT(run_program("sessions export --help").out, HasSubstr("--html OUT.html|-"));
}

// What docs/scenario-format.md and docs/debug.md show is what the program prints and what the files
// say.

const std::string kRoot = HYBRIDSCOPE_SOURCE_DIR;

// The text between the marks <!-- NAME --> and <!-- /NAME --> of a page.
std::string marked(const std::string& page, const std::string& name) {
  const std::string text = read_file(kRoot + "/" + page);
  const std::string begin = "<!-- " + name + " -->\n";
  const std::size_t at = text.find(begin) + begin.size();
  return text.substr(at, text.find("<!-- /" + name + " -->") - at);
}

TEST(Documents, ThePageOfScenariosShowsWhatTheDemoPrints) {
  const ProgramResult run = run_program("run scenarios/align_boundary_by_decode.json --no-timings");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(marked("docs/scenario-format.md", "demo"), "```\n" + run.out + "```\n");
}

TEST(Documents, TheFirstBreakExpressionOfThePageIsOne) {
  ASSERT_THAT(read_file(kRoot + "/docs/debug.md"),
              testing::HasSubstr("hybridscope run SCENARIO.json --break finding "));
  EXPECT_EQ(run_program("run -q scenarios/plain_decode.json --break finding").exit_code, 0);
}

TEST(Documents, TheScenarioTableHasARowForEachFileAndSaysWhatItTeaches) {
  std::set<std::string> rows;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot + "/scenarios")) {
    if (entry.path().extension() != ".json") continue;
    const std::string name = entry.path().stem().string();
    const nlohmann::json scenario = nlohmann::json::parse(read_file(entry.path().string()));
    rows.insert("| [" + name + "](../scenarios/" + name + ".json) | " +
                scenario.at("teaches").get<std::string>() + " |\n");
  }
  ASSERT_GT(rows.size(), 20U);
  std::string table = "| scenario | what it shows |\n|---|---|\n";
  for (const std::string& row : rows) table += row;
  EXPECT_EQ(marked("docs/scenario-format.md", "scenarios"), table);
}

constexpr const char* kScenario = "scenarios/plain_decode.json";

class RightCommand : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = temporary_folder("right_command", {});
    trace_ = folder_ + "/t.jsonl";
    session_ = folder_ + "/runs.db";
    run_program(std::string("run -q ") + kScenario + " --trace " + trace_ + " --record " +
                session_ + ":a");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
  std::string trace_;
  std::string session_;
};

TEST_F(RightCommand, OfATraceIsJudge) {
  const ProgramResult run = run_program("run " + trace_);
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.err,
            "hybridscope run: " + trace_ + " is a trace: hybridscope judge " + trace_ + "\n");
}

TEST_F(RightCommand, OfASessionIsSessionsShow) {
  for (const std::string command : {"run ", "judge "})
    for (const std::string& place : {session_, session_ + ":a"}) {
      const ProgramResult result = run_program(command + place);
      EXPECT_EQ(result.exit_code, 3);
      EXPECT_THAT(
          result.err,
          HasSubstr(place + " is a recorded session: hybridscope sessions show " + place + "\n"));
    }
}

TEST_F(RightCommand, OfAScenarioIsRun) {
  const ProgramResult judge = run_program(std::string("judge ") + kScenario);
  EXPECT_EQ(judge.exit_code, 3);
  EXPECT_THAT(judge.err, HasSubstr("scenarios/plain_decode.json is a scenario: hybridscope run "
                                   "scenarios/plain_decode.json\n"));
}

TEST_F(RightCommand, OfALessonIsLessonsRun) {
  const ProgramResult run = run_program("run align_boundary");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err,
              EndsWith("align_boundary is a lesson: hybridscope lessons run align_boundary\n"));
}

TEST_F(RightCommand, OfTrafficIsRunWithAModel) {
  const std::string traffic = folder_ + "/traffic.jsonl";
  std::ofstream(traffic) << R"({"timestamp": 0, "input_length": 8, "output_length": 2,)"
                         << R"( "hash_ids": [1]})"
                         << "\n";
  for (const std::string command : {"run ", "judge ", "export --as pytest ", "explain-cache "}) {
    const ProgramResult result = run_program(command + traffic);
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_THAT(result.err, HasSubstr(traffic + " is traffic: hybridscope run --traffic " +
                                      traffic + " --model MODEL\n"));
  }
}

TEST_F(RightCommand, OfFilesOfLessonsAndKnownBugsIsNamedByEveryReaderOfOtherFiles) {
  const std::string lesson = "scenarios/lessons/accepted_drafts.json";
  for (const std::string command :
       {"run ", "judge ", "shrink ", "explain-cache ", "export --as pytest ", "sessions show "})
    EXPECT_THAT(run_program(command + lesson).err,
                HasSubstr(lesson + " is a lesson: hybridscope lessons run " + lesson + "\n"))
        << command;
  EXPECT_THAT(run_program("judge scenarios/bugs/pad-id-vs-null-block.json").err,
              HasSubstr(" is a known bug: hybridscope bugs run pad-id-vs-null-block\n"));
}

TEST_F(RightCommand, OfWhatAToolCannotTakeIsTheOneThatCan) {
  for (const std::string command : {"shrink ", "export --as markdown "})
    EXPECT_THAT(
        run_program(command + session_ + ":a").err,
        HasSubstr(" is a recorded session: hybridscope sessions show " + session_ + ":a\n"));
  EXPECT_THAT(run_program("export --as pytest " + trace_).err,
              HasSubstr(" is a trace: hybridscope judge " + trace_ + "\n"));
  EXPECT_THAT(run_program("diff " + trace_ + " " + trace_).err,
              HasSubstr(" is a trace: hybridscope judge " + trace_ + "\n"));
  EXPECT_THAT(run_program(std::string("lessons run ") + kScenario).err,
              HasSubstr(" is a scenario: hybridscope run scenarios/plain_decode.json\n"));
}

TEST_F(RightCommand, OfADiffOfAScenarioIsDiffWithTwoProfiles) {
  const std::string one = kScenario;
  for (const std::string& sessions : {one, one + " " + one})
    EXPECT_THAT(run_program("diff " + sessions).err,
                HasSubstr(" is a scenario: hybridscope diff --scenario scenarios/plain_decode.json "
                          "--engine safe --engine reference\n"));
}

TEST_F(RightCommand, OfAModelIsModel) {
  const std::string config = folder_ + "/config.json";
  std::ofstream(config) << R"({"architectures": ["Qwen3NextForCausalLM"]})";
  for (const std::string command :
       {"run ", "judge ", "bugs run ", "lessons run ", "sessions list "})
    EXPECT_THAT(run_program(command + config).err,
                HasSubstr(" is a model's config.json: hybridscope model " + config + "\n"))
        << command;
}

TEST_F(RightCommand, IsNamedByEveryReaderOfAFile) {
  const std::string to = " " + folder_ + "/new.db";
  for (const std::string& command :
       {std::string("run --model tiny-gdn --traffic "),
        std::string("explain-cache --model tiny-gdn --traffic "), std::string("bugs run "),
        std::string("bugs show "), std::string("model "), std::string("lessons check "),
        std::string("conformance "), "lessons export --html " + folder_ + "/site ",
        std::string("sessions list "), std::string("sessions stats "),
        std::string("sessions rerun "), std::string("sessions fork --at 2 --preempt A "),
        "sessions export --html " + folder_ + "/page.html "}) {
    EXPECT_THAT(run_program(command + kScenario).err,
                HasSubstr(" is a scenario: hybridscope run scenarios/plain_decode.json\n"))
        << command;
    EXPECT_THAT(run_program(command + trace_).err,
                HasSubstr(" is a trace: hybridscope judge " + trace_ + "\n"))
        << command;
  }
  for (const std::string command : {"run --model tiny-gdn --traffic ", "lessons run ", "bugs run "})
    EXPECT_THAT(run_program(command + session_).err,
                HasSubstr(" is a recorded session: hybridscope sessions show " + session_ + "\n"))
        << command;
  EXPECT_THAT(run_program("sessions import " + trace_ + to).err,
              HasSubstr(" is a trace: hybridscope judge " + trace_ + "\n"));
  EXPECT_THAT(run_program(std::string("sessions import ") + kScenario + to).err,
              HasSubstr(" is a scenario: hybridscope run scenarios/plain_decode.json\n"));
}

// What the file lacks is no other kind of file.
TEST_F(RightCommand, IsNotNamedForASessionThatAFileLacks) {
  for (const std::string command : {"sessions show ", "sessions rerun ", "sessions stats "})
    EXPECT_THAT(run_program(command + session_ + ":none").err,
                HasSubstr("no session \"none\" in it, there is \"a\"\n"));
}

TEST_F(RightCommand, IsNotNamedForWhatNoCommandReads) {
  EXPECT_THAT(run_program("run README.md").err, Not(HasSubstr(": hybridscope ")));
}

TEST(Options, OneThatVllmHasAndIsNotModelledSaysWhatToDo) {
  const ProgramResult run = run_program("run scenarios/plain_decode.json --enforce-eager");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err,
              EndsWith("enforce_eager is not modelled: without graphs is cudagraph_mode NONE\n"));
}

TEST(Help, SaysInWordsWhichNumbersAnOptionTakes) {
  for (const std::string command :
       {"run", "judge", "matrix", "shrink", "export", "gui", "conformance", "diff", "explain-cache",
        "model", "sessions query", "sessions fork"}) {
    const std::string help = run_program(command + " --help").out;
    EXPECT_THAT(help, Not(testing::ContainsRegex("INT|POSITIVE|FLOAT|TEXT"))) << command;
  }
  EXPECT_THAT(run_program("matrix --help").out, HasSubstr("--jobs N:1 to 1024"));
}

TEST(Help, ShowsNoValuesOfFlags) {
  const std::string help = run_program("run --help").out;
  EXPECT_THAT(help, HasSubstr("--async-scheduling,--no-async-scheduling\n"));
  EXPECT_THAT(help, Not(HasSubstr("{false}")));
}

}  // namespace
}  // namespace hybridscope::test::help_test
