#include <gmock/gmock.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cli/command_line.h"
#include "cli/process.h"
#include "sessions/record/step_record.h"
#include "storage/session_file.h"
#include "tests/cli/program.h"

namespace hybridscope::test::interrupt_test {
namespace {

using testing::HasSubstr;

constexpr const char* kEndlessQuery =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";

// A run for minutes; it prints a line for each step, once the step is handed over.
std::vector<std::string> long_run(std::vector<std::string> more) {
  std::vector<std::string> words = {HYBRIDSCOPE_PROGRAM,
                                    "run",
                                    "--traffic",
                                    "synthetic",
                                    "--limit",
                                    "100000",
                                    "--model",
                                    "tiny-gdn",
                                    "--num-speculative-tokens",
                                    "2",
                                    "--check",
                                    "all",
                                    "--jsonl"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

class LongWork : public testing::Test {
 protected:
  void SetUp() override { folder_ = temporary_folder("interrupt", {}); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::vector<SessionInfo> recorded_sessions() const {
    return SessionFile::open(path("runs.db"), FileAccess::read).value().sessions().value();
  }
  std::string folder_;
};

class Interrupt : public LongWork, public testing::WithParamInterface<int> {};

TEST_P(Interrupt, LeavesAWholeSessionAndAReport) {
  const RunningProgram run(
      long_run({"--record", path("runs.db") + ":asked to stop", "--junit", path("report.xml")}));
  const std::int64_t seen = run.read_lines(20);
  EXPECT_EQ(seen, 20);
  run.send(GetParam());
  EXPECT_EQ(run.wait(), 130);
  const auto all = recorded_sessions();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_GE(all[0].num_steps, seen);
  EXPECT_EQ(all[0].status, SessionStatus::interrupted);
  EXPECT_THAT(all[0].status_reason, HasSubstr("interrupted after"));
  EXPECT_THAT(read_file(path("report.xml")), HasSubstr(R"(<error type="interrupted")"));
}

TEST_P(Interrupt, WritesNoBaselineOfAPartOfARun) {
  std::ofstream(path("known.json")) << "as it was";
  const RunningProgram run(long_run({"--write-baseline", path("known.json")}));
  EXPECT_EQ(run.read_lines(20), 20);
  run.send(GetParam());
  EXPECT_EQ(run.wait(), 130);
  EXPECT_EQ(read_file(path("known.json")), "as it was");
}

TEST_P(Interrupt, EndsAJudgeThatWaitsForStandardInput) {
  const RunningProgram judge({HYBRIDSCOPE_PROGRAM, "judge", "-", "--junit", path("report.xml")});
  judge.wait_until_it_works();
  judge.write("{");  // half a line
  judge.send(GetParam());
  EXPECT_EQ(judge.wait(), 130);
  EXPECT_THAT(read_file(path("report.xml")),
              HasSubstr(R"(<error type="interrupted" message="interrupted">)"));
}

// Nobody ever writes into it.
TEST_P(Interrupt, EndsAJudgeThatWaitsForANamedPipe) {
  ASSERT_EQ(mkfifo(path("trace.jsonl").c_str(), 0600), 0);
  const RunningProgram judge({HYBRIDSCOPE_PROGRAM, "judge", path("trace.jsonl")});
  judge.wait_until_it_works();
  judge.send(GetParam());
  EXPECT_EQ(judge.wait(), 130);
}

TEST_P(Interrupt, EndsALessonThatWaitsForAnAnswer) {
  const RunningProgram lesson(
      {HYBRIDSCOPE_PROGRAM, "lessons", "run", "align_boundary", "--answers-from", "-"});
  lesson.wait_until_it_works();
  lesson.send(GetParam());
  EXPECT_EQ(lesson.wait(), 130);
}

TEST_P(Interrupt, EndsConformanceWithTheReportOfWhatWasChecked) {
  const RunningProgram check({HYBRIDSCOPE_PROGRAM, "conformance", "tests/golden", "--json",
                              "--junit", path("report.xml")});
  check.wait_until_it_works();
  check.send(GetParam());
  EXPECT_EQ(check.wait(), 130);
  EXPECT_THAT(read_file(path("report.xml")), HasSubstr("</testsuites>"));
}

struct LongCommand {
  std::string words;  // what follows the program's name; the first is a command of the program
  std::string says;  // printed only by one that is ended in its work; "": nothing at all is printed
};

std::string repeated(const std::string& word, int times) {
  std::string words;
  for (int i = 0; i < times; ++i) words += " " + word;
  return words;
}

// The scenario has two requests of 200,000 tokens, and a finding under profile reference. Each
// command would go on for seconds to hours.
std::vector<LongCommand> long_commands(const std::string& folder) {
  const std::string scenario = folder + "/long.json";
  const std::string recorded = folder + "/runs.db:long";
  return {
      {"run -q " + scenario, "interrupted"},
      {"run -q " + scenario + " " + scenario, "1 interrupted"},
      {"run -q --twin " + scenario, ""},
      {"judge --follow " + folder + "/none.jsonl", "judging is not complete: interrupted"},
      {"judge " + folder + "/pipe", "judging is not complete: interrupted"},
      {"sessions import " + folder + "/pipe " + folder + "/imported.db",
       "interrupted, nothing of it was imported"},
      {"sessions rerun " + recorded + " --check all", "sessions rerun: interrupted"},
      {"sessions fork " + recorded + " --at 2 --preempt A", "interrupted after"},
      {"sessions query " + folder + "/runs.db '" + kEndlessQuery + "'", "runs.db: interrupted"},
      {"sessions export " + recorded + " --steps 1-10000 --html " + folder + "/page.html",
       "sessions export: interrupted"},
      {"sessions export " + recorded + " --jsonl " + folder + "/steps.jsonl.zst",
       "interrupted, no file is left behind"},
      {"diff --scenario " + scenario + " --engine safe --engine reference", "interrupted"},
      {"explain-cache " + scenario, "explain-cache: interrupted"},
      {"plan --traffic synthetic --sweep max_num_seqs=1..16 --sweep num_speculative_tokens=0..8",
       "plan: interrupted; with --out FILE the same command would go on"},
      {"conformance tests/golden tests/golden/releases", "s: interrupted"},
      {"conformance " + folder + "/pipe", "s: interrupted"},
      {"lessons check" + repeated("align_boundary", 100), ""},
      {"lessons export --html " + folder + "/site", "lessons export: interrupted"},
      {"bugs run" + repeated("48", 500), ""},
      {"matrix --engine reference --out " + folder + "/matrix", "run the same command again"},
      {"matrix --engine reference --write-scenarios " + folder + "/scenarios", " scenarios in "},
      {"shrink " + scenario + " --engine reference -o " + folder + "/small.json", "interrupted"},
      {"shrink " + folder + "/pipe", "pipe: interrupted, nothing was shrunk"},
      {"export " + scenario + " --as markdown", ""},
      {"gui " + scenario + " --bench", ""},
  };
}

struct ShortCommand {
  std::string name;
  std::string why;
};

const std::vector<ShortCommand> kShortCommands = {
    {"model", "derives the layout of one model: milliseconds"},
    {"doctor", "prints what is there: milliseconds"},
};

TEST_F(LongWork, EveryCommandIsInterruptedByATestOrEndsAtOnce) {
  std::set<std::string> tested;
  for (const LongCommand& command : long_commands(""))
    tested.insert(command.words.substr(0, command.words.find(' ')));
  for (const ShortCommand& command : kShortCommands) tested.insert(command.name);
  std::set<std::string> all;
  for (const ProgramCommand& command : program_commands()) all.insert(command.name);
  EXPECT_EQ(tested, all);
}

struct Interrupted {
  int code = 0;
  std::string printed;
};

// Signalled later and later until it has printed something: before a command asks to be stopped in
// order, a signal ends it at once, without a word.
Interrupted interrupt_in_its_work(const LongCommand& command, const std::string& out) {
  Interrupted ended;
  for (double cpu_seconds = 0.15; cpu_seconds < 3; cpu_seconds *= 2) {
    const RunningProgram running(
        {"sh", "-c", "exec " HYBRIDSCOPE_PROGRAM " " + command.words + " >'" + out + "' 2>&1"});
    running.wait_until_it_works(cpu_seconds);
    running.send(SIGINT);
    running.end_within_20_seconds();
    ended = {.code = running.wait(), .printed = read_file(out)};
    if (command.says.empty() || ended.code != 130 || !ended.printed.empty()) break;
  }
  return ended;
}

TEST_F(LongWork, OfEveryCommandEndsAtASignalWithExitCode130) {
  auto scenario =
      nlohmann::json::parse(read_file(HYBRIDSCOPE_SOURCE_DIR "/scenarios/starved_request.json"));
  scenario["settings"]["max_model_len"] = 300'000;
  scenario["settings"]["num_gpu_blocks_override"] = 100'000;
  for (auto& request : scenario["requests"]) request["max_tokens"] = 200'000;
  scenario.erase("expect");
  std::ofstream(path("long.json")) << scenario.dump();
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);  // nobody ever writes into it
  ASSERT_EQ(
      run_program("run -q --steps 10000 " + path("long.json") + " --record " + path("runs.db:long"))
          .exit_code,
      0);
  for (const LongCommand& command : long_commands(folder_)) {
    SCOPED_TRACE(command.words.substr(0, 200));
    const auto [code, printed] = interrupt_in_its_work(command, path("out"));
    if (printed.find("no drawing without a display") != std::string::npos) continue;
    EXPECT_EQ(code, 130) << printed;
    EXPECT_THAT(printed, command.says.empty() ? testing::Matcher<std::string>(testing::IsEmpty())
                                              : HasSubstr(command.says));
  }
  for (const char* unfinished : {"site", "page.html", "steps.jsonl.zst", "imported.db"})
    EXPECT_FALSE(std::filesystem::exists(path(unfinished))) << unfinished;
}

// It keeps the steps of an engine in a folder for temporary files.
TEST_P(Interrupt, LeavesNoTemporaryFolderOfAnAttachedBench) {
  ASSERT_EQ(run_program("run -q scenarios/plain_decode.json --trace " + path("t.jsonl")).exit_code,
            0);
  for (const char* end : {" --bench", " --command 'engine.wait 99' --screenshot shot.png"}) {
    std::filesystem::create_directory(path("tmp"));
    const RunningProgram gui({"sh", "-c",
                              "TMPDIR=" + path("tmp") + " HOME=" + folder_ +
                                  " exec " HYBRIDSCOPE_PROGRAM " gui --attach " + path("t.jsonl") +
                                  end + " 2>'" + path("err") + "'"});
    while (!gui.has_ended() && std::filesystem::is_empty(path("tmp")))
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    gui.send(GetParam());
    gui.end_within_20_seconds();
    const int code = gui.wait();
    if (read_file(path("err")).find("no drawing without a display") != std::string::npos)
      GTEST_SKIP() << "no drawing without a display";
    EXPECT_EQ(code, 130) << end;
    EXPECT_TRUE(std::filesystem::is_empty(path("tmp"))) << end;
    std::filesystem::remove_all(path("tmp"));
  }
}

// A signal is how it ends, and its summary is that of a whole trace; but nobody knows whether the
// engine would have gone on.
TEST_P(Interrupt, LeavesASessionOfAFollowedTraceThatIsInterrupted) {
  ASSERT_EQ(run_program("run -q scenarios/starved_request.json --engine reference --trace " +
                        path("trace.jsonl"))
                .exit_code,
            1);
  const RunningProgram judge({HYBRIDSCOPE_PROGRAM, "judge", "--follow", path("trace.jsonl"),
                              "--record", path("runs.db") + ":followed"});
  EXPECT_EQ(judge.read_lines(1), 1);  // a finding, as soon as its line was read
  judge.send(GetParam());
  EXPECT_EQ(judge.wait(), 130);
  const auto all = recorded_sessions();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].status, SessionStatus::interrupted);
  EXPECT_EQ(all[0].status_reason, "interrupted");
}

TEST_P(Interrupt, OfAJudgeThatFollowsNoFileYetIsAllThatItTells) {
  const RunningProgram judge({"sh", "-c",
                              "exec " HYBRIDSCOPE_PROGRAM " judge -q --follow " +
                                  path("none.jsonl") + " 2>'" + path("err") + "'"});
  judge.wait_until_it_works();
  judge.send(GetParam());
  EXPECT_EQ(judge.wait(), 130);
  EXPECT_EQ(read_file(path("err")), "hybridscope judge: interrupted\n");
}

INSTANTIATE_TEST_SUITE_P(Signals, Interrupt, testing::Values(SIGINT, SIGTERM, SIGHUP),
                         [](const auto& one) {
                           return std::string(one.param == SIGINT    ? "CtrlC"
                                              : one.param == SIGTERM ? "Sigterm"
                                                                     : "Sighup");
                         });

// What is recorded after kill -9 is told from what is being recorded.
TEST(KilledRecorder, LeavesAnInterruptedSessionThatCanBeDeleted) {
  const std::string folder = temporary_folder("killed", {});
  const std::string place = folder + "/runs.db:now";
  const RunningProgram run(long_run({"--record", place}));
  EXPECT_EQ(run.read_lines(20), 20);
  const ProgramResult refused = run_program("sessions delete '" + place + "'");
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_THAT(refused.err, HasSubstr("session \"now\" is being recorded; end its recorder first"));
  EXPECT_EQ(run_program("sessions rename '" + place + "' then").exit_code, 4);
  EXPECT_THAT(run_program("sessions list '" + folder + "/runs.db'").out, HasSubstr("recording"));
  run.send(SIGKILL);
  EXPECT_EQ(run.wait(), -SIGKILL);
  EXPECT_THAT(run_program("sessions list '" + folder + "/runs.db'").out,
              HasSubstr("now: its recorder ended without recording an end"));
  EXPECT_THAT(run_program("diff '" + place + "' '" + place + "'").out,
              HasSubstr("A was interrupted: its recording ends before its run."));
  EXPECT_EQ(run_program("sessions delete '" + place + "'").exit_code, 0);
  std::filesystem::remove_all(folder);
}

// A session whose steps never end, as diff and sessions rerun read them.
class EndlessSource final : public StepSource {
 public:
  std::string title() const override { return "endless"; }
  const EngineConfig& config() const override { return config_; }
  RecordLevel level() const override { return RecordLevel::counts; }
  std::string request_name(RequestId) const override { return ""; }
  Result<const StepStamp*> next() override { return &stamp_; }
  Result<const StepRecord*> record() override { return &record_; }

 private:
  EngineConfig config_;
  StepStamp stamp_;
  StepRecord record_;
};

TEST_P(Interrupt, EndsAStreamOfSteps) {
  const auto read_until_it_ends = [] {
    ask_for_interrupts();
    InterruptibleSource source(std::make_unique<EndlessSource>(), was_interrupted);
    if (!source.next().ok()) std::_Exit(1);
    (void)raise(GetParam());
    const auto step = source.next();
    std::_Exit(step.ok() ? 2 : step.error().kind == ErrorKind::not_available ? 130 : 3);
  };
  EXPECT_EXIT(read_until_it_ends(), testing::ExitedWithCode(130), "");
}

TEST(Nohup, KeepsACommandRunningAtSighup) {
  const RunningProgram run({"nohup", HYBRIDSCOPE_PROGRAM, "judge", "-"});
  run.wait_until_it_works();
  run.send(SIGHUP);
  run.send(SIGTERM);
  EXPECT_EQ(run.wait(), 130);
}

}  // namespace
}  // namespace hybridscope::test::interrupt_test
