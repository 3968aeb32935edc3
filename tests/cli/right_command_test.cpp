#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tests/cli/program.h"

namespace hybridscope::test::right_command_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

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
}  // namespace hybridscope::test::right_command_test
