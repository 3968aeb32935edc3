// The files of a command: what it reads and writes is never one file.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/text/output_file.h"

namespace hybridscope {

enum class FileUse : std::uint8_t {
  whole,    // read, or replaced as a whole
  session,  // a session file, to which sessions are added; `path` without a session's name
  results,  // to which lines are added
};

struct InputFile {
  std::string_view what;  // "the scenario"
  std::string path;       // empty: none; "-": standard input; a folder: the files directly in it
  FileUse use = FileUse::whole;
  std::string_view of_folder = {};  // what names of the files read in a folder contain; empty: all
};

struct OutputTarget {
  std::string_view option;  // "--jsonl"
  std::string path;         // empty: not asked for; "-": standard output
  FileUse use = FileUse::whole;
};

// Every command with an option for output says here what its files are.
struct CommandFiles {
  std::vector<InputFile> inputs;
  std::vector<OutputTarget> outputs;
};

// Error invalid_input, before anything is written: an output that is also read, two outputs that
// are one file, or two that would be on standard output, which holds one document or the text for
// people. One file is one file by all its names. A session file takes in the files that SQLite and
// a recorder keep beside it. Devices may be read and written at once. Also: an output that lines
// are added to but that is no file. Only a file that is added to may be read as well, as what it
// is.
Status check_files(const CommandFiles& files);

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
