// Runs the built program as a user would.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace hybridscope::test {

struct ProgramResult {
  int exit_code = -1;
  std::string out;
  std::string err;
};

// `arguments` as typed in a shell, from the project's root. `environment` is "NAME=value ..." for a
// shell; what CI and test runners set themselves is taken away.
ProgramResult run_program(const std::string& arguments, const std::string& environment = "");

// The same where no file can become larger than `max_bytes`, a multiple of 512: as on a full disk.
// Standard output and standard error are such files too.
ProgramResult run_program_with_full_disk(const std::string& arguments, int max_bytes,
                                         const std::string& environment = "");

// A file with this content in a folder of this process alone, which is removed at the process's end
// unless a test failed; its path.
std::string temporary_file(const std::string& name, const std::string& content);

// A folder of this test alone with these files, name and content; its path, without a slash.
std::string temporary_folder(const std::string& name,
                             const std::vector<std::pair<std::string, std::string>>& files);

std::string read_file(const std::string& path);

// The built program while it runs, with pipes as standard input and output.

class RunningProgram {
 public:
  // `arguments`: the program and what follows, without a shell, from the project's root. Standard
  // error goes nowhere.
  explicit RunningProgram(std::vector<std::string> arguments);
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;
  ~RunningProgram();

  void write(const std::string& text) const;
  // Reads up to `at_most` whole lines; returns how many there were.
  std::int64_t read_lines(std::int64_t at_most) const;
  // Until it is past its start and in its work: it waits for input, or has computed for longer than
  // a start takes.
  void wait_until_it_works(double cpu_seconds = 0.25) const;
  bool has_ended() const;
  void send(int signal) const;
  // Kills it if it goes on for longer than a loaded machine may take to end it.
  void end_within_20_seconds() const;
  // The exit code; minus the signal that killed it.
  int wait() const;

 private:
  struct Look {
    bool is_program = false;
    bool sleeps = false;
    double cpu_seconds = 0;
  };
  Look look() const;

  pid_t child_ = 0;
  std::FILE* in_ = nullptr;
  std::FILE* out_ = nullptr;
};

// Small scenarios for tests of whole suites.

// One request, no findings, 3 steps.
std::string fine_scenario(const std::string& name);

// A faulty policy makes a request read another one's state: findings of running-state-wrong.
std::string faulty_scenario(const std::string& name);

// Runs without findings, but expects 99 steps.
std::string unmet_scenario(const std::string& name);

}  // namespace hybridscope::test
