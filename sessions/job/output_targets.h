// The files that a job reads and writes, and where its text goes.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/text/command_files.h"
#include "sessions/text/output_file.h"

namespace hybridscope {

// "--json", whose document is on standard output.
OutputTarget document(std::string_view option, bool is_asked_for);
// The file of `--record FILE.db:NAME`.
OutputTarget recording(const std::string& place);
// The session file of "FILE.db:NAME" that is read.
InputFile session_input(const std::string& place);

// The file at `path`, if one is asked for (empty: none). Made before long work, so that a missing
// folder is reported at once. Error: it cannot be written.
Result<std::optional<OutputFile>> open_output(const std::string& path);

// Where the text for people goes: standard error where one of these is on standard output.
std::FILE* text_stream(const std::vector<OutputTarget>& outputs);

}  // namespace hybridscope
