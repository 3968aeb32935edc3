// Outputs that cannot be written: a disk without room, as a limit on the size of files shows it
// (EFBIG in place of ENOSPC), files that cannot be made, and pipes at which nobody reads.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "storage/session_file.h"
#include "tests/cli/program.h"

namespace hybridscope::test::full_disk_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

// Four cells.
const std::string kCells =
    " --engine reference --scenarios 1 --only mode=align --only speculation=mtp2 "
    "--only prefix_caching=on --only layout=SD --only runner=v1 --only scheduling=sync "
    "--only graphs=full_and_piecewise --only retention=dense --only match_unit=block "
    "--only checkpoints=none ";

const std::string kScenario = "scenarios/align_boundary_by_accepted_drafts.json ";

class FullDisk : public testing::Test {
 protected:
  void SetUp() override { folder_ = temporary_folder("full_disk", {}); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string out(const std::string& name) const { return path("out/" + name); }
  std::vector<std::string> files_left() const {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path("out")))
      files.push_back(entry.path().filename());
    return files;
  }
  // Traces and sessions of 3 steps and of 300 steps.
  void record_runs() const {
    const std::string big = "run -q --traffic synthetic --model tiny-gdn --steps 300 --record ";
    ASSERT_EQ(run_program(big + path("big.db:a") + " --trace " + path("big.jsonl")).exit_code, 0);
    ASSERT_EQ(run_program("sessions export " + path("big.db") + " --jsonl " + path("steps.jsonl"))
                  .exit_code,
              0);
  }
  std::string folder_;
};

struct Written {
  std::string words;  // up to the place that is written
  std::string place;
  int max_bytes = 0;
};

TEST_F(FullDisk, IsNamedByEveryCommandAndNothingOfItsOutputIsLeft) {
  record_runs();
  const std::string scenario = "export " + kScenario;
  for (const auto& [words, place, max_bytes] : std::vector<Written>{
           {"run -q " + kScenario + "--trace ", "t.jsonl", 1024},
           {"run -q " + kScenario + "--trace ", "t.jsonl.zst", 1024},
           {"run -q " + kScenario + "--junit ", "r.xml", 512},
           {"run -q scenarios --tap ", "r.tap", 512},
           {"run -q " + kScenario + "--record ", "r.db", 51200},
           {"judge -q " + path("big.jsonl") + " --junit ", "r.xml", 512},
           {"judge -q " + path("big.jsonl") + " --record ", "r.db", 51200},
           {"sessions export " + path("big.db") + " --html ", "r.html", 65536},
           {"sessions export " + path("big.db") + " --jsonl ", "r.jsonl", 65536},
           {"sessions export " + path("big.db") + " --trace ", "r.jsonl", 65536},
           {"sessions import " + path("steps.jsonl") + " ", "r.db", 51200},
           {"sessions import " + path("steps.jsonl") + " ", "half.db", 655360},
           {"sessions fork " + path("big.db") + " --at 2 --reset --record ", "r.db", 51200},
           {"diff --scenario " + kScenario + "--engine safe --engine reference --html ", "r.html",
            5120},
           {scenario + "--as step-actions -o ", "r.txt", 512},
           {scenario + "--as pytest -o ", "r.py", 512},
           {scenario + "--as runner-test -o ", "r.py", 512},
           {scenario + "--as markdown -o ", "r.md", 512},
           {"shrink scenarios/starved_request.json --engine reference -o ", "r.json", 512},
           {"bugs run 48 --junit ", "r.xml", 512},
           {"matrix" + kCells + "--out ", "m", 1024},
           {"matrix" + kCells + "--out " + path("page_m") + " --html ", "r.html", 8192},
           {"matrix" + kCells + "--write-scenarios ", "scenarios", 512},
           {"lessons export align_boundary --html ", "site/of/lessons", 5120},
           {"gui " + kScenario + "--screenshot ", "r.png", 5120},
           {"gui " + kScenario + "--screenshot " + path("r.png") + " --command 'panel.export_png " +
                out("panel.png") + "' --size ",
            "640x480", 5120},
       }) {
    SCOPED_TRACE(words + place);
    std::filesystem::create_directory(path("out"));
    const bool is_path = place != "640x480";
    const ProgramResult run = run_program_with_full_disk(
        words + (is_path ? out(place) : place) + " >/dev/null", max_bytes, "HOME=" + folder_);
    if (run.err.find("no drawing without a display") == std::string::npos) {
      EXPECT_EQ(run.exit_code, 4);
      EXPECT_THAT(run.err, AllOf(HasSubstr(is_path ? out(place) : out("panel.png")),
                                 HasSubstr("File too large")));
    }
    EXPECT_THAT(files_left(), IsEmpty());
    std::filesystem::remove_all(path("out"));
  }
}

TEST_F(FullDisk, OfStandardOutputIsNamed) {
  const ProgramResult run = run_program_with_full_disk("run --jsonl " + kScenario, 1024);
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_EQ(run.err, "hybridscope: cannot write the output: File too large\n");
}

// There is nowhere to tell of it.
TEST_F(FullDisk, OfStandardErrorChangesNoExitCode) {
  EXPECT_EQ(run_program("run nowhere.json 2>/dev/full").exit_code, 3);
  EXPECT_EQ(run_program("run -q " + kScenario + "2>/dev/full").exit_code, 0);
}

TEST_F(FullDisk, KeepsTheFinishedCellsOfAMatrixForTheNextRun) {
  const std::string command = "matrix" + kCells + "--out " + out("mine") + " >/dev/null";
  EXPECT_EQ(run_program_with_full_disk(command, 4096).exit_code, 4);
  const std::string before = read_file(out("mine/matrix.jsonl"));
  EXPECT_THAT(before, testing::EndsWith("}\n"));
  ASSERT_LT(run_program(command).exit_code, 2);
  EXPECT_THAT(read_file(out("mine/matrix.jsonl")), testing::StartsWith(before));
}

TEST_F(FullDisk, LeavesAFolderOfAMatrixWithoutResultsAsItWas) {
  std::filesystem::create_directories(out("mine"));
  const ProgramResult begun =
      run_program_with_full_disk("matrix" + kCells + "--out " + out("mine") + " >/dev/null", 1024);
  EXPECT_EQ(begun.exit_code, 4);
  EXPECT_THAT(files_left(), testing::ElementsAre("mine"));

  const std::string one = kCells + "--no-shrink -q --out " + out("mine");
  ASSERT_LT(run_program("matrix" + one + " --seed 2").exit_code, 2);
  const std::string before = read_file(out("mine/matrix.jsonl"));
  const std::size_t header = before.find('\n') + 1;
  std::filesystem::resize_file(out("mine/matrix.jsonl"), header);  // as if it was interrupted then
  const ProgramResult resumed =
      run_program_with_full_disk("matrix" + one + " --seed 2 >/dev/null", 1024);
  EXPECT_EQ(resumed.exit_code, 4);
  EXPECT_EQ(read_file(out("mine/matrix.jsonl")), before.substr(0, header));
}

// The session needs 17 MiB.
TEST_F(FullDisk, InTheMiddleOfARecordingLeavesTheStepsBeforeInASessionThatFailed) {
  const ProgramResult run = run_program_with_full_disk(
      "run -q --traffic synthetic --model tiny-gdn --record " + path("runs.db:half"), 8 << 20);
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.err, HasSubstr("runs.db: cannot write: File too large: a limit on the size of "
                                 "files (ulimit -f) is reached"));
  EXPECT_THAT(run.out, HasSubstr("its session or trace could not be written"));
  const auto file = SessionFile::open(path("runs.db"), FileAccess::read);
  ASSERT_TRUE(file.ok());
  const SessionInfo half = file.value().find("half").value();
  EXPECT_EQ(half.status, SessionStatus::failed);
  EXPECT_THAT(half.status_reason, HasSubstr("File too large"));
  EXPECT_GE(half.num_steps, 256);  // the first transaction
  EXPECT_LT(half.num_steps, 5732);
  EXPECT_THAT(
      run_program("sessions query " + path("runs.db") + " 'SELECT count(*) FROM steps'").out,
      HasSubstr(std::to_string(half.num_steps)));
  EXPECT_EQ(
      run_program("sessions show " + path("runs.db:half") + " --step 256 --explain").exit_code, 0);
}

constexpr const char* kRun = "run -q scenarios/align_boundary_by_accepted_drafts.json ";

class OutputErrors : public testing::Test {
 protected:
  void SetUp() override { folder_ = temporary_folder("output_errors", {}); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string folder_;
};

TEST_F(OutputErrors, AMissingFolderIsTheEnvironmentsFaultForEveryFile) {
  ASSERT_EQ(run_program(kRun + ("--record " + path("runs.db:a"))).exit_code, 0);
  ASSERT_EQ(run_program(kRun + ("--trace " + path("t.jsonl"))).exit_code, 0);
  ASSERT_EQ(
      run_program("sessions export " + path("runs.db:a") + " --jsonl " + path("s.jsonl")).exit_code,
      0);
  const std::string run = kRun;
  const std::string judge = "judge " + path("t.jsonl");
  const std::string exported = "sessions export " + path("runs.db:a");
  for (const std::string& command :
       {run + "--record", run + "--trace", run + "--junit", run + "--tap",
        std::string("run scenarios --record"), judge + " --record", judge + " --junit",
        judge + " --tap", exported + " --html", exported + " --jsonl", exported + " --trace",
        "sessions import " + path("s.jsonl"),
        "sessions fork " + path("runs.db:a") + " --at 2 --preempt A --record",
        std::string("shrink scenarios/skipped_for_a_step.json --engine reference -o"),
        std::string("diff --scenario scenarios/plain_decode.json --html"),
        std::string("export scenarios/plain_decode.json --as markdown -o")}) {
    const ProgramResult result = run_program(command + " " + path("none/out.db"));
    EXPECT_EQ(result.exit_code, 4) << command;
    EXPECT_THAT(result.err, HasSubstr("none/out.db")) << command;
  }
}

TEST_F(OutputErrors, ATraceOnAFullDiskNamesTheReason) {
  const ProgramResult result = run_program(kRun + std::string("--trace /dev/full"));
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.err, HasSubstr("cannot write /dev/full: No space left on device"));
}

TEST_F(OutputErrors, ATraceThatCannotBeWrittenIsNotLeftBehind) {
  // Two blocks of 1,024 bytes: less than the trace.
  const std::string command = "(ulimit -f 2; trap '' XFSZ; cd '" HYBRIDSCOPE_SOURCE_DIR "' && '" +
                              std::string(HYBRIDSCOPE_PROGRAM) + "' " + kRun + "--trace '" +
                              path("t.jsonl") + "') >/dev/null 2>&1";
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 4);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(OutputErrors, AFolderThatCannotBeMadeIsTheEnvironmentsFault) {
  const ProgramResult matrix = run_program("matrix --engine safe --out /proc/none/matrix");
  EXPECT_EQ(matrix.exit_code, 4);
  EXPECT_THAT(matrix.err, HasSubstr("/proc/none/matrix/faults: cannot be made a folder"));
}

// A colon after what is no session file: a session was meant, whatever its name is.
TEST_F(OutputErrors, APlaceForASessionInNoSessionFileIsMisuseInEveryCommand) {
  ASSERT_EQ(run_program(kRun + ("--record " + path("runs.db:a"))).exit_code, 0);
  ASSERT_EQ(run_program(kRun + ("--trace " + path("t.jsonl"))).exit_code, 0);
  ASSERT_EQ(
      run_program("sessions export " + path("runs.db:a") + " --jsonl " + path("s.jsonl")).exit_code,
      0);
  for (const std::string& command :
       {kRun + std::string("--record"), std::string("run scenarios/bugs --record"),
        "judge " + path("t.jsonl") + " --record", "sessions import " + path("s.jsonl"),
        "sessions fork " + path("runs.db:a") + " --at 2 --preempt A --record",
        "gui --attach " + path("t.jsonl") + " --record"})
    for (const char* name : {"runs.txt:a", "runs.txt:a/b"}) {
      const ProgramResult result = run_program(command + " " + path(name));
      EXPECT_EQ(result.exit_code, 2) << command;
      EXPECT_THAT(result.err, HasSubstr(path("runs.txt") + "\" is no name of a session file"))
          << command;
    }
}

TEST_F(OutputErrors, ATraceWhoseNameEndsInZstIsCompressed) {
  ASSERT_EQ(run_program(kRun + ("--trace " + path("t.jsonl"))).exit_code, 0);
  ASSERT_EQ(run_program(kRun + ("--trace " + path("t.jsonl.zst"))).exit_code, 0);
  const std::string packed = read_file(path("t.jsonl.zst"));
  EXPECT_EQ(packed.substr(0, 4), "\x28\xB5\x2F\xFD");
  EXPECT_LT(packed.size(), read_file(path("t.jsonl")).size() / 2);
  EXPECT_EQ(run_program("judge " + path("t.jsonl.zst")).exit_code, 0);
}

TEST_F(OutputErrors, AFileThatIsNoSessionFileIsInvalidInput) {
  EXPECT_EQ(run_program(kRun + std::string("--record README.md")).exit_code, 3);
}

// A signal while a command waits for the other end of a pipe.

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
}  // namespace hybridscope::test::full_disk_test
