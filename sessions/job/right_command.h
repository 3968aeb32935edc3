// The command that reads what was given to another one.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hybridscope {

// `error` of `command`, which could not read `input`; if another command reads that, an error that
// names it: "trace.jsonl is a trace: hybridscope judge trace.jsonl". `command` is "--traffic" where
// that option's file was read.
Error name_right_command(std::string_view command, const std::string& input, Error error);

}  // namespace hybridscope
