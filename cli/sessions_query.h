// `sessions query` and `sessions stats`: a session file as numbers.
#pragma once

#include "cli/sessions_command.h"

namespace hybridscope {

SessionsSubcommand add_sessions_query(CLI::App& sessions);
SessionsSubcommand add_sessions_stats(CLI::App& sessions);

}  // namespace hybridscope
