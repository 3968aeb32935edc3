// --record and --record-level.
#pragma once

#include <string>

#include "cli/cli_fwd.h"
#include "core/base/result.h"
#include "sessions/record/step_record.h"

namespace hybridscope {

struct RecordOption {
  std::string place;  // FILE.db[:NAME], empty: nothing is recorded
  RecordLevel level = RecordLevel::blocks;
  bool quiet = false;  // says nothing on stderr
};

void add_record_options(CLI::App& command, RecordOption& option);

// The exit code for an error of a session or of its place: an unusable name is a usage error.
int record_exit_code(const Error& error);

}  // namespace hybridscope
