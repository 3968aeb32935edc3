// `hybridscope doctor`: what this build and this machine have.
#pragma once

#include "cli/cli_fwd.h"
#include "sessions/job/backends.h"

namespace hybridscope {

// The text below its --help.
void describe_doctor(CLI::App& command);

int doctor_command(const Backends& backends);

}  // namespace hybridscope
