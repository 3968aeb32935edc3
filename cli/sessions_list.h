// `sessions list`, and the small changes: delete, rename, note, bookmark.
#pragma once

#include "cli/sessions_command.h"

namespace hybridscope {

SessionsSubcommand add_sessions_list(CLI::App& sessions);
SessionsSubcommand add_sessions_delete(CLI::App& sessions);
SessionsSubcommand add_sessions_rename(CLI::App& sessions);
SessionsSubcommand add_sessions_note(CLI::App& sessions);
SessionsSubcommand add_sessions_bookmark(CLI::App& sessions);

}  // namespace hybridscope
