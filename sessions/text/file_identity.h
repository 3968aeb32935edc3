// Which file a path names, through symbolic and hard links.
#pragma once

#include <string>

namespace hybridscope {

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
