// A disk without room, as a limit on the size of files shows it: EFBIG in place of ENOSPC.
#include <gmock/gmock.h>

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

}  // namespace
}  // namespace hybridscope::test::full_disk_test
