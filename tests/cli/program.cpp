#include "tests/cli/program.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace hybridscope::test {
namespace {

// Or tests would depend on who runs them.
constexpr const char* kWithoutCi =
    "-u CI -u GITHUB_ACTIONS -u GITHUB_STEP_SUMMARY -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX "
    "-u TEST_TOTAL_SHARDS -u TEST_SHARD_INDEX -u TEST_SHARD_STATUS_FILE ";

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
  const std::string command = limits + "cd '" + HYBRIDSCOPE_SOURCE_DIR + "' && env " + kWithoutCi +
                              environment + " '" + HYBRIDSCOPE_PROGRAM + "' >'" + out + "' 2>'" +
                              err + "' </dev/null " + arguments;
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

}  // namespace hybridscope::test
