// `sessions show`: a session in the terminal: what it is, its steps, one step in words.
#pragma once

#include "cli/sessions_command.h"

namespace hybridscope {

SessionsSubcommand add_sessions_show(CLI::App& sessions);

}  // namespace hybridscope
