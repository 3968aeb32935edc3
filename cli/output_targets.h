// Checks the files that a command writes against those it reads and against each other.
#pragma once

#include <cstdio>
#include <initializer_list>
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

// Error invalid_input: two of these are "-". Standard output holds one document or the text for
// people.
Status check_one_document(std::initializer_list<OutputTarget> outputs);

// Where the text for people goes: standard error where one of these is "-".
std::FILE* text_stream(std::initializer_list<OutputTarget> outputs);

}  // namespace hybridscope
