#include <sys/stat.h>

#include "storage/session_file.h"

namespace hybridscope {
namespace {

bool is_file(const std::string& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

}  // namespace

SessionPlace parse_session_place(std::string_view text) {
  if (is_file(std::string(text))) return {.file = std::string(text), .name = {}};
  for (auto colon = text.rfind(':'); colon != std::string_view::npos && colon > 0;
       colon = text.rfind(':', colon - 1)) {
    const std::string file(text.substr(0, colon));
    if (file.ends_with(".db") || is_file(file))
      return {.file = file, .name = std::string(text.substr(colon + 1))};
  }
  return {.file = std::string(text), .name = {}};
}

}  // namespace hybridscope
