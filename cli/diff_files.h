// `hybridscope diff A.db B.db`: all sessions of two files, paired by their names.
#pragma once

#include "cli/diff_command.h"
#include "core/base/result.h"

namespace hybridscope {

// Are two whole files compared? Not where a name is given, or where each has one session, which are
// then compared whatever their names are. Errors: those of SessionFile::open.
Result<bool> compares_files(const DiffOptions& options);

// Prints what differs in each pair and a table of all pairs. Returns the exit code: 1 where a pair
// differs or a session is in one file only.
int diff_files_command(const DiffCommandOptions& options);

}  // namespace hybridscope
