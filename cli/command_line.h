// The command line: subcommands, their options, their help, and what ends the program.
#pragma once

#include <functional>
#include <span>

#include "cli/common_options.h"
#include "sessions/job/backends.h"

namespace hybridscope {

// Runs the program; returns its exit code. Results go to stdout, everything else to stderr.
int run_command_line(int argc, char** argv, const Backends& backends);

// The commands of the program: one row in one table each.

// Runs the command with the options that were parsed; returns the program's exit code.
using RunCommand = std::function<int()>;

struct ProgramCommand {
  const char* name = "";
  const char* alias = "";  // empty: none
  const char* description = "";
  // Gives `app` the command's options and subcommands. `backends` outlives the program's run.
  RunCommand (*add)(CLI::App& app, const Backends& backends) = nullptr;
};

// In the order of the help.
std::span<const ProgramCommand> program_commands();

}  // namespace hybridscope
