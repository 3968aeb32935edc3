#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "cli/interrupt.h"
#include "cli/interruptible_source.h"
#include "storage/session_file.h"
#include "tests/cli/program.h"

namespace hybridscope::test::interrupt_test {
namespace {

using testing::HasSubstr;

// The program while it runs, with pipes as standard input and output.
class Running {
 public:
  explicit Running(std::vector<std::string> arguments) {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    if (pipe(in.data()) != 0 || pipe(out.data()) != 0) return;
    child_ = fork();
    if (child_ == 0) become_program(std::move(arguments), in, out);
    close(in[0]);
    close(out[1]);
    in_ = fdopen(in[1], "w");
    out_ = fdopen(out[0], "r");
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    std::fclose(in_);
    std::fclose(out_);
  }

  void write(const std::string& text) const {
    std::fputs(text.c_str(), in_);
    std::fflush(in_);
  }
  // Reads up to `at_most` whole lines; returns how many there were.
  std::int64_t read_lines(std::int64_t at_most) const {
    std::int64_t num_lines = 0;
    for (int c = 0; num_lines < at_most && (c = std::fgetc(out_)) != EOF;)
      if (c == '\n') ++num_lines;
    return num_lines;
  }
  // Until it handles signals itself. Before it is the program, the child has the handlers of this
  // process, which tests may have set.
  void wait_for_handlers() const {
    const std::string status = "/proc/" + std::to_string(child_) + "/status";
    const auto handles_sigterm = [&] {
      std::ifstream in(status);
      bool is_program = false;
      for (std::string line; std::getline(in, line);) {
        if (line.starts_with("Name:")) is_program = line.ends_with("hybridscope");
        if (line.starts_with("SigCgt:"))
          return is_program && (std::stoull(line.substr(7), nullptr, 16) >> (SIGTERM - 1) & 1) != 0;
      }
      return false;
    };
    while (!handles_sigterm() && !has_ended())
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  // Until it asks for signals itself: it waits for input, or has computed for half a second.
  void wait_until_it_works() const {
    int num_sleeping = 0;  // looks in a row
    while (num_sleeping < 5 && !has_ended()) {
      const Look at = look();
      if (at.is_program && at.cpu_seconds > 0.5) return;
      num_sleeping = at.is_program && at.sleeps ? num_sleeping + 1 : 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  bool has_ended() const {
    siginfo_t ended{};
    return waitid(P_PID, static_cast<id_t>(child_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ended.si_pid == child_;
  }
  void send(int signal) const { kill(child_, signal); }
  // The exit code; minus the signal that killed it.
  int wait() const {
    read_lines(INT64_MAX);  // it ends even if it has much to print
    int status = 0;
    waitpid(child_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  [[noreturn]] static void become_program(std::vector<std::string> arguments,
                                          const std::array<int, 2>& in,
                                          const std::array<int, 2>& out) {
    // Not freopen: stderr may be a stream without a file (cli/safe_streams).
    std::FILE* const nowhere = std::fopen("/dev/null", "w");
    if (dup2(in[0], STDIN_FILENO) < 0 || dup2(out[1], STDOUT_FILENO) < 0 || nowhere == nullptr ||
        dup2(fileno(nowhere), STDERR_FILENO) < 0 || chdir(HYBRIDSCOPE_SOURCE_DIR) != 0)
      _exit(99);
    for (const int end : {in[0], in[1], out[0], out[1]}) close(end);
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    execvp(words[0], words.data());
    _exit(98);
  }

  struct Look {
    bool is_program = false;
    bool sleeps = false;
    double cpu_seconds = 0;
  };
  // /proc/PID/stat: "PID (name) S ...", user and system time are fields 14 and 15.
  Look look() const {
    std::ifstream in("/proc/" + std::to_string(child_) + "/stat");
    std::string text;
    std::getline(in, text);
    const std::size_t end_of_name = text.rfind(')');
    if (end_of_name == std::string::npos) return {};
    std::istringstream fields(text.substr(end_of_name + 1));
    std::vector<std::string> values;
    for (std::string value; fields >> value;) values.push_back(value);
    if (values.size() < 13) return {};
    return {.is_program = text.find("(hybridscope)") != std::string::npos,
            .sleeps = values[0] == "S",
            .cpu_seconds = (std::stod(values[11]) + std::stod(values[12])) /
                           static_cast<double>(sysconf(_SC_CLK_TCK))};
  }

  pid_t child_ = 0;
  std::FILE* in_ = nullptr;
  std::FILE* out_ = nullptr;
};

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

class Interrupt : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { folder_ = temporary_folder("interrupt", {}); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string folder_;
};

TEST_P(Interrupt, LeavesAWholeSessionAndAReport) {
  const Running run(
      long_run({"--record", path("runs.db") + ":asked to stop", "--junit", path("report.xml")}));
  const std::int64_t seen = run.read_lines(20);
  EXPECT_EQ(seen, 20);
  run.send(GetParam());
  EXPECT_EQ(run.wait(), 130);
  const auto file = SessionFile::open(path("runs.db"), FileAccess::read);
  ASSERT_TRUE(file.ok());
  const auto all = file.value().sessions().value();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_GE(all[0].num_steps, seen);
  EXPECT_EQ(all[0].status, SessionStatus::interrupted);
  EXPECT_THAT(all[0].status_reason, HasSubstr("interrupted after"));
  EXPECT_THAT(read_file(path("report.xml")), HasSubstr(R"(<error type="interrupted")"));
}

TEST_P(Interrupt, EndsAJudgeThatWaitsForStandardInput) {
  const Running judge({HYBRIDSCOPE_PROGRAM, "judge", "-", "--junit", path("report.xml")});
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
  const Running judge({HYBRIDSCOPE_PROGRAM, "judge", path("trace.jsonl")});
  judge.wait_until_it_works();
  judge.send(GetParam());
  EXPECT_EQ(judge.wait(), 130);
}

TEST_P(Interrupt, EndsALessonThatWaitsForAnAnswer) {
  const Running lesson(
      {HYBRIDSCOPE_PROGRAM, "lessons", "run", "align_boundary", "--answers-from", "-"});
  lesson.wait_until_it_works();
  lesson.send(GetParam());
  EXPECT_EQ(lesson.wait(), 130);
}

TEST_P(Interrupt, EndsConformanceWithTheReportOfWhatWasChecked) {
  const Running check({HYBRIDSCOPE_PROGRAM, "conformance", "tests/golden", "--json", "--junit",
                       path("report.xml")});
  check.wait_until_it_works();
  check.send(GetParam());
  EXPECT_EQ(check.wait(), 130);
  EXPECT_THAT(read_file(path("report.xml")), HasSubstr("</testsuites>"));
}

// Commands that go on for seconds or wait for ever, one line each.
std::vector<std::string> long_commands(const std::string& folder) {
  return {"run --traffic synthetic --limit 100000 --model tiny-gdn",
          "judge --follow " + folder + "/none.jsonl",
          "explain-cache --traffic synthetic --limit 100000 --model tiny-gdn",
          "conformance tests/golden",
          "lessons check",
          "lessons export --html " + folder + "/site",
          "bugs run --all",
          "matrix --engine reference --out " + folder + "/matrix",
          "matrix --engine reference --write-scenarios " + folder + "/scenarios",
          "shrink scenarios/starved_request.json --engine reference -o " + folder + "/small.json",
          "sessions rerun " + folder + "/runs.db:long",
          "sessions query " + folder + "/runs.db '" + kEndlessQuery + "'",
          "sessions export " + folder + "/runs.db:long --html " + folder + "/page.html",
          "diff " + folder + "/runs.db:long " + folder + "/runs.db:long --all"};
}

TEST_P(Interrupt, EndsEveryCommandThatTakesLongWithExitCode130) {
  const std::string runs = path("runs.db");
  ASSERT_EQ(run_program("run --traffic synthetic --limit 2000 --model tiny-gdn -q --record '" +
                        runs + ":long'")
                .exit_code,
            0);
  for (const std::string& words : long_commands(folder_)) {
    const Running command({"sh", "-c", "exec " HYBRIDSCOPE_PROGRAM " " + words});
    command.wait_for_handlers();
    command.send(GetParam());
    EXPECT_EQ(command.wait(), 130) << words;
  }
  EXPECT_FALSE(std::filesystem::exists(path("site")));
  EXPECT_FALSE(std::filesystem::exists(path("page.html")));
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
  const Running run(long_run({"--record", place}));
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
    InterruptibleSource source(std::make_unique<EndlessSource>());
    if (!source.next().ok()) std::_Exit(1);
    (void)raise(GetParam());
    const auto step = source.next();
    std::_Exit(step.ok() ? 2 : step.error().kind == ErrorKind::not_available ? 130 : 3);
  };
  EXPECT_EXIT(read_until_it_ends(), testing::ExitedWithCode(130), "");
}

TEST(Nohup, KeepsACommandRunningAtSighup) {
  const Running run({"nohup", HYBRIDSCOPE_PROGRAM, "judge", "-"});
  run.wait_until_it_works();
  run.send(SIGHUP);
  run.send(SIGTERM);
  EXPECT_EQ(run.wait(), 130);
}

}  // namespace
}  // namespace hybridscope::test::interrupt_test
