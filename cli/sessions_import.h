// `sessions import`: JSON Lines of a session become a session of a file again.
#pragma once

#include "cli/sessions_command.h"

namespace hybridscope {

SessionsSubcommand add_sessions_import(CLI::App& sessions);

}  // namespace hybridscope
