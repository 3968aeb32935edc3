#include "tests/cli/program.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace hybridscope::test {
namespace {

// Or tests would depend on who runs them.
constexpr const char* kWithoutCi =
    "-u CI -u GITHUB_ACTIONS -u GITHUB_STEP_SUMMARY -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX "
    "-u TEST_TOTAL_SHARDS -u TEST_SHARD_INDEX -u TEST_SHARD_STATUS_FILE ";

std::string temporary_path(const std::string& name) {
  return testing::TempDir() + "hybridscope_" + std::to_string(getpid()) + "_" + name;
}

}  // namespace

ProgramResult run_program(const std::string& arguments, const std::string& environment) {
  const std::string out = temporary_path("out");
  const std::string err = temporary_path("err");
  // The arguments come last, so that a test can send the output elsewhere.
  const std::string command = std::string("cd '") + HYBRIDSCOPE_SOURCE_DIR + "' && env " +
                              kWithoutCi + environment + " '" + HYBRIDSCOPE_PROGRAM + "' >'" + out +
                              "' 2>'" + err + "' </dev/null " + arguments;
  const int status = std::system(command.c_str());
  ProgramResult result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result.out = read_file(out);
  result.err = read_file(err);
  return result;
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
