// A signal while a command waits for the other end of a pipe.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "storage/session_file.h"
#include "tests/cli/program.h"
#include "tests/cli/running_program.h"

namespace hybridscope::test::interrupted_pipe_test {
namespace {

using testing::HasSubstr;

class InterruptAtAPipe : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    folder_ = temporary_folder("interrupted_pipe", {});
    ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string folder_;
};

// The test holds the pipe open, so that it can be opened, and takes nothing out of it.
TEST_P(InterruptAtAPipe, EndsACommandWhoseOutputNobodyTakes) {
  std::FILE* const held = std::fopen(path("pipe").c_str(), "r+");
  const std::string traffic = "run -q --traffic synthetic --limit 1000 --model tiny-gdn --record " +
                              path("runs.db") + ":held";
  for (const std::string& words :
       {traffic + " --trace " + path("pipe"), traffic + " --jsonl >'" + path("pipe") + "'",
        "run -q scenarios/ --engine reference --junit " + path("pipe")}) {
    SCOPED_TRACE(words);
    const RunningProgram run(
        {"sh", "-c", "exec " HYBRIDSCOPE_PROGRAM " " + words + " 2>'" + path("err") + "'"});
    run.wait_until_it_works(60);  // until the pipe is full and it sleeps
    run.send(GetParam());
    run.end_within_20_seconds();
    EXPECT_EQ(run.wait(), 130);
    EXPECT_THAT(read_file(path("err")), HasSubstr(": interrupted\n"));
    if (words.find("--record") == std::string::npos) continue;
    const auto file = SessionFile::open(path("runs.db"), FileAccess::read);
    EXPECT_EQ(file.value().find("held").value().status, SessionStatus::interrupted);
    std::filesystem::remove(path("runs.db"));
  }
  std::fclose(held);
}

TEST_P(InterruptAtAPipe, EndsACommandThatWaitsForTheReaderOfAPipe) {
  for (const std::string& option : {"--trace", "--junit", "--tap"}) {
    const RunningProgram run(
        {HYBRIDSCOPE_PROGRAM, "run", "-q", "scenarios/plain_decode.json", option, path("pipe")});
    run.wait_until_it_works(60);
    run.send(GetParam());
    run.end_within_20_seconds();
    EXPECT_EQ(run.wait(), 130) << option;
  }
}

// Of a run whose input comes through a pipe.
TEST_P(InterruptAtAPipe, LeavesAReportOfARunThatWasNotReadYet) {
  struct Reading {
    std::string input;
    std::string reported;
  };
  const std::vector<Reading> readings = {
      {path("pipe"), "pipe: interrupted while it was read"},
      {"--model tiny-gdn --traffic " + path("pipe"), "pipe:1: interrupted while it was read"},
      {"scenarios/plain_decode.json " + path("pipe"), "interrupted before it ran"},
  };
  for (const Reading& reading : readings) {
    SCOPED_TRACE(reading.input);
    const RunningProgram run({"sh", "-c",
                              "exec " HYBRIDSCOPE_PROGRAM " run " + reading.input + " --junit " +
                                  path("report.xml") + " >'" + path("out") + "' 2>&1"});
    run.wait_until_it_works(60);
    run.send(GetParam());
    EXPECT_EQ(run.wait(), 130);
    EXPECT_THAT(read_file(path("report.xml")), HasSubstr(reading.reported));
    std::filesystem::remove(path("report.xml"));
  }
}

INSTANTIATE_TEST_SUITE_P(Signals, InterruptAtAPipe, testing::Values(SIGINT, SIGTERM),
                         [](const auto& one) {
                           return std::string(one.param == SIGINT ? "CtrlC" : "Sigterm");
                         });

}  // namespace
}  // namespace hybridscope::test::interrupted_pipe_test
