#include "gui/model/gui_paths.h"

#include <fmt/core.h>

#include <algorithm>

#include "sessions/text/json_value.h"

namespace hybridscope {
namespace {

constexpr std::size_t kMaxLayoutName = 64;

bool is_absolute(std::string_view path) { return path.starts_with('/'); }

struct BaseFolder {
  const char* variable;    // XDG_CONFIG_HOME
  const char* below_home;  // when it is not set: /.config
};

Result<std::string> base_folder(const EnvironmentLookup& lookup, const BaseFolder& base) {
  if (std::string folder = lookup(base.variable); is_absolute(folder)) return folder;
  if (const std::string home = lookup("HOME"); is_absolute(home)) return home + base.below_home;
  return Error{ErrorKind::not_available,
               fmt::format("neither {} nor HOME is set to an absolute path: there is no place to "
                           "remember settings",
                           base.variable)};
}

bool in_a_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == ' ' ||
         c == '-' || c == '_' || c == '.';
}

}  // namespace

Result<std::string> settings_path(const EnvironmentLookup& lookup) {
  auto folder = base_folder(lookup, {"XDG_CONFIG_HOME", "/.config"});
  if (!folder.ok()) return folder;
  return folder.value() + "/hybridscope/settings.json";
}

Result<std::string> layouts_folder(const EnvironmentLookup& lookup) {
  auto folder = base_folder(lookup, {"XDG_STATE_HOME", "/.local/state"});
  if (!folder.ok()) return folder;
  return folder.value() + "/hybridscope/layouts";
}

Status check_layout_name(std::string_view name) {
  const bool fits = !name.empty() && name.size() <= kMaxLayoutName;
  if (fits && std::ranges::all_of(name, in_a_name) && name.front() != '.' && name.front() != ' ' &&
      name.back() != ' ')
    return Ok{};
  return invalid_input(
      fmt::format("a layout named {} (expected 1 to {} letters, digits, spaces, \"-\", \"_\" and "
                  "\".\", no dot or space in front, no space at the end)",
                  quoted_text(name), kMaxLayoutName));
}

}  // namespace hybridscope
