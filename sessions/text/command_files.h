// The files of a command: what it reads and writes is never one file, whatever links name it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

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
  std::string_view option;  // "--jsonl"; empty: `path` says enough
  std::string path;         // empty: not asked for; "-": standard output
  FileUse use = FileUse::whole;
};

// Whatever writes files says here which they are, and which it reads: a command, the window, a
// function of the Python package.
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

// Is it asked for on standard output?
bool is_on_standard_output(const OutputTarget& output);

// Which file a path names, through symbolic and hard links.

// The path of what writing to `path` makes or replaces: where symbolic links lead in the end, also
// if nothing is there yet. Unchanged: `path` is no link, or its links lead round in a circle.
std::string link_target(const std::string& path);

// Do both paths name one file, or would they once it is made? Hard links are one file.
bool same_file(const std::string& a, const std::string& b);

// Is it the file that standard input comes from?
bool is_standard_input(const std::string& path);

// Does standard output go to this file or pipe? False for a terminal and other devices, of which
// several may be opened.
bool is_standard_output(const std::string& path);

// Is it still the file that was opened as `descriptor`?
bool names_open_file(const std::string& path, int descriptor);

}  // namespace hybridscope
