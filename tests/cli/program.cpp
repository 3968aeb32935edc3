#include "tests/cli/program.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

namespace hybridscope::test {
namespace {

// Or tests would depend on who runs them. Done when GoogleTest has chosen the part of the tests.
class WithoutCi : public testing::Environment {
  void SetUp() override {
    for (const char* name :
         {"CI", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX",
          "TEST_TOTAL_SHARDS", "TEST_SHARD_INDEX", "TEST_SHARD_STATUS_FILE"})
      unsetenv(name);
  }
};
[[maybe_unused]] const testing::Environment* const kWithoutCi =
    testing::AddGlobalTestEnvironment(new WithoutCi);

class ProcessFolder {
 public:
  ProcessFolder() : path_(testing::TempDir() + "hybridscope_XXXXXX"), owner_(getpid()) {
    if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary folder");
  }
  ~ProcessFolder() {
    if (getpid() != owner_) return;  // a child of a test
    if (!testing::UnitTest::GetInstance()->Passed()) {
      std::fprintf(stderr, "files of the tests are kept in %s\n", path_.c_str());
      return;
    }
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ProcessFolder(const ProcessFolder&) = delete;
  ProcessFolder& operator=(const ProcessFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  pid_t owner_;
};

std::string temporary_path(const std::string& name) {
  static const ProcessFolder folder;  // made by the first test that asks
  return folder.path() + "/" + name;
}

// `limits`: what the shell does first, "" or "ulimit ... && ".
ProgramResult run_limited(const std::string& limits, const std::string& arguments,
                          const std::string& environment) {
  const std::string out = temporary_path("out");
  const std::string err = temporary_path("err");
  // The arguments come last, so that a test can send the output elsewhere.
  const std::string command = limits + "cd '" + HYBRIDSCOPE_SOURCE_DIR + "' && env " + environment +
                              " '" + HYBRIDSCOPE_PROGRAM + "' >'" + out + "' 2>'" + err +
                              "' </dev/null " + arguments;
  const int status = std::system(command.c_str());
  ProgramResult result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result.out = read_file(out);
  result.err = read_file(err);
  return result;
}

}  // namespace

ProgramResult run_program(const std::string& arguments, const std::string& environment) {
  return run_limited("", arguments, environment);
}

ProgramResult run_program_with_full_disk(const std::string& arguments, int max_bytes,
                                         const std::string& environment) {
  return run_limited("ulimit -f " + std::to_string(max_bytes / 512) + " && ", arguments,
                     environment);
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream content;
  content << in.rdbuf();
  return content.str();
}

std::string temporary_file(const std::string& name, const std::string& content) {
  const std::string path = temporary_path(name);
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

std::string temporary_folder(const std::string& name,
                             const std::vector<std::pair<std::string, std::string>>& files) {
  const std::string folder = temporary_path(name);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  for (const auto& [file, content] : files)
    std::ofstream(folder + "/" + file, std::ios::binary) << content;
  return folder;
}

namespace {

[[noreturn]] void become_program(std::vector<std::string> arguments, const std::array<int, 2>& in,
                                 const std::array<int, 2>& out) {
  // Not freopen: stderr may be a stream without a file (cli/process).
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

namespace {

nlohmann::ordered_json small_scenario(const std::string& name) {
  return nlohmann::ordered_json::parse(R"({
    "version": 1, "name": ")" + name + R"(", "teaches": "t", "model": "tiny-mamba2",
    "settings": {"mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 32,
                 "max_model_len": 64, "async_scheduling": false},
    "requests": [{"id": "A", "prompt": 6, "max_tokens": 3}]})");
}

}  // namespace

std::string fine_scenario(const std::string& name) { return small_scenario(name).dump(1); }

std::string faulty_scenario(const std::string& name) {
  auto scenario = nlohmann::ordered_json::parse(
      read_file(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/starved_request.json"));
  scenario["name"] = name;
  scenario["settings"]["policies"]["accepted_count_owner"] = "persistent_row";
  return scenario.dump(1);
}

std::string unmet_scenario(const std::string& name) {
  auto scenario = small_scenario(name);
  scenario["expect"]["steps"] = 99;
  return scenario.dump(1);
}

}  // namespace hybridscope::test
