// Checks the files that a command writes against those it reads and against each other.
#pragma once

#include <cstdio>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "sessions/text/output_file.h"

namespace hybridscope {

struct OutputTarget {
  std::string_view option;  // "--jsonl"
  std::string path;         // empty: not asked for; "-": standard output
};

// Error invalid_input, before anything is written: an output that is the session file or one of the
// files SQLite keeps beside it, also by another name for it, or two outputs that are one.
Status check_outputs(std::span<const OutputTarget> outputs, const std::string& session_file);

// Error invalid_input: the output is `input`, a file that the command reads, also by another name
// for it. `what`: "the scenario".
Status check_not_read(const OutputTarget& output, std::string_view what, const std::string& input);

// Error invalid_input: the output is no file that a later run can go on with, such as "-" or a
// device.
Status check_continuable(const OutputTarget& output);

// Error invalid_input: two of these are "-". Standard output holds one document or the text for
// people.
Status check_one_document(std::initializer_list<OutputTarget> outputs);

// The file at `path`, if one is asked for (empty: none). Made before long work, so that a missing
// folder is reported at once. Error: it cannot be written.
Result<std::optional<OutputFile>> open_output(const std::string& path);

// Where the text for people goes: standard error where one of these is "-".
std::FILE* text_stream(std::initializer_list<OutputTarget> outputs);

}  // namespace hybridscope
