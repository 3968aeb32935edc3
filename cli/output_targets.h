// The files that a command writes, held against what it reads and against each other.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hybridscope {

struct OutputTarget {
  std::string_view option;  // "--jsonl"
  std::string path;         // empty: not asked for; "-": standard output
};

// Error invalid_input, before anything is written: an output that is the session file or one of the
// files SQLite keeps beside it, also by another name for it, or two outputs that are one.
Status check_outputs(std::span<const OutputTarget> outputs, const std::string& session_file);

}  // namespace hybridscope
