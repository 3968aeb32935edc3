#include "tests/cli/running_program.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

namespace hybridscope::test {
namespace {

[[noreturn]] void become_program(std::vector<std::string> arguments, const std::array<int, 2>& in,
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

}  // namespace

RunningProgram::RunningProgram(std::vector<std::string> arguments) {
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

RunningProgram::~RunningProgram() {
  std::fclose(in_);
  std::fclose(out_);
}

void RunningProgram::write(const std::string& text) const {
  std::fputs(text.c_str(), in_);
  std::fflush(in_);
}

std::int64_t RunningProgram::read_lines(std::int64_t at_most) const {
  std::int64_t num_lines = 0;
  for (int c = 0; num_lines < at_most && (c = std::fgetc(out_)) != EOF;)
    if (c == '\n') ++num_lines;
  return num_lines;
}

void RunningProgram::wait_until_it_works(double cpu_seconds) const {
  int num_sleeping = 0;  // looks in a row
  while (num_sleeping < 5 && !has_ended()) {
    const Look at = look();
    if (at.is_program && at.cpu_seconds > cpu_seconds) return;
    num_sleeping = at.is_program && at.sleeps ? num_sleeping + 1 : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

bool RunningProgram::has_ended() const {
  siginfo_t ended{};
  return waitid(P_PID, static_cast<id_t>(child_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         ended.si_pid == child_;
}

void RunningProgram::send(int signal) const { kill(child_, signal); }

void RunningProgram::end_within_20_seconds() const {
  for (int looks = 0; looks < 2000 && !has_ended(); ++looks)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  if (!has_ended()) send(SIGKILL);
}

int RunningProgram::wait() const {
  read_lines(INT64_MAX);  // it ends even if it has much to print
  int status = 0;
  waitpid(child_, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// /proc/PID/stat: "PID (name) S ...", user and system time are fields 14 and 15.
RunningProgram::Look RunningProgram::look() const {
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

}  // namespace hybridscope::test
