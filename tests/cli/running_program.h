// The built program while it runs, with pipes as standard input and output.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace hybridscope::test {

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

}  // namespace hybridscope::test
