#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "storage/session_file.h"

namespace hybridscope {
namespace {

bool is_file(const std::string& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

}  // namespace

bool is_session_file_name(std::string_view file) {
  std::string lower(file);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return std::ranges::any_of(std::array{".db", ".db3", ".sqlite", ".sqlite3"},
                             [&](const char* ending) { return lower.ends_with(ending); });
}

SessionPlace parse_session_place(std::string_view text) {
  if (is_file(std::string(text))) return {.file = std::string(text), .name = {}};
  for (auto colon = text.rfind(':'); colon != std::string_view::npos && colon > 0;
       colon = text.rfind(':', colon - 1)) {
    const std::string file(text.substr(0, colon));
    if (is_session_file_name(file) || is_file(file))
      return {.file = file, .name = std::string(text.substr(colon + 1))};
  }
  return {.file = std::string(text), .name = {}};
}

}  // namespace hybridscope
