#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "sessions/job/step_files.h"
#include "sessions/record/session_plan.h"
#include "sessions/run/checked_run.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/text/command_files.h"
#include "storage/session_file.h"
#include "storage/session_reader.h"
#include "tests/cli/program.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::test::record_test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kScenario = "scenarios/align_boundary_by_accepted_drafts.json";

class Record : public testing::Test {
 protected:
  void SetUp() override {
    file_ = temporary_file("runs.db", "");
    std::filesystem::remove(file_);
  }
  void TearDown() override {
    for (const char* ending : {"", "-wal", "-shm"}) std::filesystem::remove(file_ + ending);
  }
  ProgramResult record(const std::string& what, const std::string& name) const {
    return run_program(what + " --record '" + file_ + name + "'");
  }
  // With their plans.
  std::vector<SessionInfo> sessions() const {
    const auto file = SessionFile::open(file_, FileAccess::read);
    if (!file.ok()) return {};
    auto all = file.value().sessions().value();
    for (SessionInfo& info : all) info = file.value().find(info.header.name).value();
    return all;
  }
  std::string file_;
};

TEST_F(Record, ARunIsASessionOfTheFile) {
  const ProgramResult run = record(std::string("run ") + kScenario, ":before the fix");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, ContainsRegex("recorded 3 steps as \"before the fix\" in .*runs.db "
                                     "\\([0-9]+\\.[0-9] MiB\\)"));
  EXPECT_THAT(run.out, HasSubstr("no findings"));
  const auto all = sessions();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].header.name, "before the fix");
  EXPECT_EQ(all[0].header.source, kScenario);
  EXPECT_EQ(all[0].header.kind, SessionKind::run);
  EXPECT_EQ(all[0].header.level, RecordLevel::blocks);
  EXPECT_THAT(all[0].header.plan, HasSubstr("\"align boundary by accepted drafts\""));
  EXPECT_EQ(all[0].status, SessionStatus::complete);
  EXPECT_THAT(all[0].program, HasSubstr("hybridscope "));
}

TEST_F(Record, QuietlyNothingIsSaidOfIt) {
  EXPECT_EQ(record(std::string("run -q ") + kScenario, ":one").err, "");
  EXPECT_EQ(record(std::string("run -q scenarios/plain_decode.json ") + kScenario, "").err, "");
  EXPECT_EQ(sessions().size(), 3U);
}

TEST_F(Record, ARunThatStopsAsAskedIsStopped) {
  const ProgramResult run =
      record(std::string("run --steps 2 --record-level counts ") + kScenario, "");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const auto all = sessions();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].header.name, "align_boundary_by_accepted_drafts");
  EXPECT_EQ(all[0].status, SessionStatus::stopped);
  EXPECT_EQ(all[0].num_steps, 2);
  EXPECT_EQ(all[0].header.level, RecordLevel::counts);
}

// The run takes minutes; that its file is gone ends it sooner.
TEST_F(Record, AFileThatIsRemovedOrReplacedMeanwhileIsExitCode4) {
  for (const bool replaced : {false, true}) {
    const std::string folder = temporary_folder("taken_away", {});
    const std::string file = folder + "/runs.db";
    const RunningProgram run(
        {"/bin/sh", "-c",
         std::string("exec ") + HYBRIDSCOPE_PROGRAM +
             " run --traffic synthetic --limit 100000 --model tiny-gdn --jsonl --record " + file +
             ":one 2>" + folder + "/err"});
    EXPECT_EQ(run.read_lines(20), 20);  // the session has begun
    std::filesystem::remove(file);
    if (replaced) std::ofstream(file) << "somebody's";
    EXPECT_EQ(run.wait(), 4);
    EXPECT_THAT(read_file(folder + "/err"), HasSubstr(file + ": "));
    EXPECT_THAT(read_file(folder + "/err"), HasSubstr("was removed, renamed or replaced"));
    EXPECT_EQ(std::filesystem::exists(file), replaced);
    if (replaced) EXPECT_EQ(read_file(file), "somebody's");
  }
}

TEST_F(Record, WhatIsWrongShowsBeforeAnythingRuns) {
  const std::string run = std::string("run ") + kScenario;
  ASSERT_EQ(record(run, ":one").exit_code, 0);
  const ProgramResult taken = record(run, ":one");
  EXPECT_EQ(taken.exit_code, 2);
  EXPECT_THAT(taken.err, HasSubstr("a session \"one\" already"));
  EXPECT_EQ(taken.out, "");
  const ProgramResult scenario_as_file = run_program(run + " --record scenarios/plain_decode.json");
  EXPECT_EQ(scenario_as_file.exit_code, 3);
  EXPECT_THAT(scenario_as_file.err, HasSubstr("no SQLite database"));
  EXPECT_EQ(scenario_as_file.out, "");
  EXPECT_EQ(run_program(run + " --record /nonexistent/runs.db").exit_code, 4);
  EXPECT_EQ(record(run + " --twin", ":twin").exit_code, 2);
  EXPECT_EQ(run_program(run + " --twin --trace /dev/null").exit_code, 2);
  EXPECT_EQ(run_program(run + " --record-level full").exit_code, 2);
  EXPECT_EQ(sessions().size(), 1U);
}

TEST_F(Record, ATargetThatDoesNotDoIsToldToContinuousIntegration) {
  const std::string junit = temporary_file("record.xml", "");
  const ProgramResult run =
      run_program(std::string("run ") + kScenario + " --record README.md --junit '" + junit + "'",
                  "GITHUB_ACTIONS=true");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, AllOf(HasSubstr("::error "), HasSubstr("no SQLite database")));
  EXPECT_THAT(read_file(junit), AllOf(HasSubstr("errors=\"1\""), HasSubstr("--record README.md")));
  std::filesystem::remove(junit);
}

TEST_F(Record, ASuiteFindsOutOnceThatItsFileDoesNotDo) {
  const std::string junit = temporary_file("suite.xml", "");
  const ProgramResult run = run_program("run scenarios --record README.md --junit '" + junit + "'");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("README.md"));
  EXPECT_THAT(read_file(junit), HasSubstr("tests=\"1\" failures=\"0\" errors=\"1\""));
  std::filesystem::remove(junit);
}

TEST_F(Record, AnEmptyNameIsNoFile) {
  const ProgramResult run = run_program(std::string("run -q --record '' ") + kScenario);
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("--record: names no file"));
}

TEST_F(Record, AColonAfterWhatIsNoSessionFileIsWrongUsage) {
  for (const std::string& what :
       {std::string("run -q ") + kScenario, std::string("run scenarios")}) {
    const ProgramResult run = run_program(what + " --record runs.txt:before");
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.err, HasSubstr("runs.txt:before: \"runs.txt\" is no name of a session file"));
  }
}

TEST_F(Record, ANameWithoutDatabaseSuffixIsWrongUsage) {
  for (const std::string& what :
       {std::string("run -q ") + kScenario, std::string("run scenarios")}) {
    const ProgramResult run = run_program(what + " --record /tmp/before");
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.err, HasSubstr("\"/tmp/before\" is no name of a session file, expected one "
                                   "that ends in .db, .db3, .sqlite or .sqlite3, such as "
                                   "/tmp/before.db, or runs.db:before for a session"));
    EXPECT_FALSE(std::filesystem::exists("/tmp/before"));
  }
}

TEST_F(Record, OneStepIsOneStep) {
  const ProgramResult run = record(std::string("run --steps 1 ") + kScenario, ":one");
  EXPECT_THAT(run.err, HasSubstr("recorded 1 step as \"one\""));
}

TEST_F(Record, AFullDiskIsTheEnvironmentsFault) {
  // 100 blocks of 1,024 bytes: less than an empty session file.
  const std::string command = std::string("(ulimit -f 100; cd '") + HYBRIDSCOPE_SOURCE_DIR +
                              "' && '" + HYBRIDSCOPE_PROGRAM + "' run " + kScenario +
                              " --record '" + file_ + "') >/dev/null 2>'" + file_ + ".err'";
  const int status = std::system(command.c_str());
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 4);
  std::ifstream in(file_ + ".err");
  const std::string words{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(words, HasSubstr("File too large"));
  std::filesystem::remove(file_ + ".err");
}

TEST_F(Record, EveryTraceOfAnInputIsASession) {
  const std::string trace = temporary_file("two.jsonl", "");
  const std::string one = temporary_file("one.jsonl", "");
  ASSERT_EQ(run_program(std::string("run -q ") + kScenario + " --trace '" + one + "'").exit_code,
            0);
  std::ifstream in(one, std::ios::binary);
  const std::string lines{std::istreambuf_iterator<char>(in), {}};
  std::ofstream(trace, std::ios::binary) << lines << lines;
  const ProgramResult judged = record("judge '" + trace + "'", ":told");
  EXPECT_EQ(judged.exit_code, 0) << judged.err;
  EXPECT_THAT(judged.err, AllOf(HasSubstr("recorded 3 steps as \"told\""),
                                HasSubstr("recorded 3 steps as \"told-2\"")));
  const auto all = sessions();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].header.kind, SessionKind::judge);
  EXPECT_EQ(all[1].header.plan + "\n", lines.substr(0, lines.find('\n') + 1));
  EXPECT_EQ(all[1].status, SessionStatus::complete);
  EXPECT_EQ(all[1].num_request_steps, 3);
  std::filesystem::remove(trace);
  std::filesystem::remove(one);
}

class StepFilesOfARun : public testing::Test {
 protected:
  Result<StepFiles> begin(const StepFileOptions& options) {
    const auto header = [&] {
      ++num_headers_;
      return run_header(run_.plan(), CheckScope::step);
    };
    return StepFiles::begin(
        options,
        {.header = header, .names = names_, .engine = &run_.engine(), .plan = &run_.plan()});
  }
  Driven drive_into(StepFiles& files) {
    StepSink* const sinks[] = {&files};
    return drive(run_, sinks);
  }

  TemporaryFolder folder_;
  CheckedRun run_ = [] {  // six steps
    const std::string file = "align_boundary_by_decode.json";
    const Scenario scenario =
        read_scenario_file(HYBRIDSCOPE_SOURCE_DIR "/scenarios/" + file).value();
    return CheckedRun::create(plan_scenario(scenario, file).value(), {.max_steps = 6}).value();
  }();
  Names names_ = make_names(run_.engine());
  int num_headers_ = 0;  // that were made
};

TEST_F(StepFilesOfARun, EachThatIsAskedForHasAllSteps) {
  StepFiles files =
      begin({.record = {.place = folder_ / "runs.db:six"}, .trace = folder_ / "six.jsonl"}).value();
  EXPECT_EQ(drive_into(files).value(), Going::on);
  ASSERT_TRUE(files.finish({}).ok());
  const std::string trace = folder_.read("six.jsonl");
  EXPECT_EQ(std::ranges::count(trace, '\n'), 1 + 6);  // a header
  const auto session = SessionReader::open({.file = folder_ / "runs.db", .name = "six"}).value();
  EXPECT_EQ(session->last_step(), 6);
}

TEST_F(StepFilesOfARun, WritesAreWantedForASessionOfLevelFull) {
  const auto wants_writes = [&](RecordLevel level) {
    return begin({.record = {.place = folder_ / "runs.db", .level = level}}).value().wants_writes();
  };
  EXPECT_FALSE(wants_writes(RecordLevel::blocks));
  EXPECT_TRUE(wants_writes(RecordLevel::full));
  EXPECT_FALSE(begin({.trace = folder_ / "a.jsonl"}).value().wants_writes());
}

// It holds the whole plan, which takes long for traffic.
TEST_F(StepFilesOfARun, AHeaderIsMadeForASessionOnly) {
  ASSERT_TRUE(begin({.trace = folder_ / "a.jsonl"}).ok());
  EXPECT_EQ(num_headers_, 0);
  ASSERT_TRUE(begin({.record = {.place = folder_ / "runs.db"}}).ok());
  EXPECT_EQ(num_headers_, 1);
}

TEST_F(StepFilesOfARun, AreAllNamedForTheCheckOfACommandsFiles) {
  std::vector<std::string> asked_for;
  for (const OutputTarget& output : outputs_of({.record = {.place = "runs.db:six"}, .trace = "t"}))
    asked_for.push_back(output.path);
  EXPECT_THAT(asked_for, testing::ElementsAre("t", "runs.db"));
}

TEST_F(StepFilesOfARun, NoneIsASinkThatTakesEverything) {
  StepFiles files = begin({}).value();
  EXPECT_EQ(drive_into(files).value(), Going::on);
  EXPECT_TRUE(files.finish({.status = SessionStatus::stopped, .reason = "as asked"}).ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(StepFilesOfARun, OneThatCannotBeWrittenIsToldInTheEnd) {
  StepFiles files = begin({.trace = "/dev/full"}).value();
  EXPECT_EQ(drive_into(files).value(), Going::on);  // six steps fit the buffer
  const Status finished = files.finish({});
  ASSERT_FALSE(finished.ok());
  EXPECT_THAT(finished.error().message, testing::HasSubstr("/dev/full"));
}

}  // namespace

}  // namespace hybridscope::test::record_test
