// `sessions import`: turns a session's JSON Lines back into a session in a file.
#pragma once

#include "cli/sessions_command.h"

namespace hybridscope {

SessionsSubcommand add_sessions_import(CLI::App& sessions);

}  // namespace hybridscope
