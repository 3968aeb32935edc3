// `sessions export`: a recorded session as an HTML report, as JSON Lines, as a trace.
#pragma once

#include "cli/sessions_command.h"

namespace hybridscope {

SessionsSubcommand add_sessions_export(CLI::App& sessions);

}  // namespace hybridscope
