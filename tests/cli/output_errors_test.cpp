#include <gmock/gmock.h>

#include <filesystem>

#include "tests/cli/program.h"

namespace hybridscope::test::output_errors_test {
namespace {

using testing::HasSubstr;

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

}  // namespace
}  // namespace hybridscope::test::output_errors_test
