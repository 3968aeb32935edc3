// The command line: subcommands, their options, their help, and what ends the program.
#pragma once

#include "sessions/job/backends.h"

namespace hybridscope {

// Runs the program; returns its exit code. Results go to stdout, everything else to stderr.
int run_command_line(int argc, char** argv, const Backends& backends);

}  // namespace hybridscope
