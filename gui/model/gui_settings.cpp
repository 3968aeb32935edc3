#include "gui/model/gui_settings.h"

#include <fmt/core.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "sessions/text/json_reader.h"
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

namespace {

using Json = nlohmann::ordered_json;

class SettingsReader {
 public:
  explicit SettingsReader(const std::string& file) : file_(file) {}

  ReadGuiSettings read(const JsonValue& place) {
    for (const JsonMember& member : place.members()) read_member(member);
    return std::move(read_);
  }

 private:
  void read_member(const JsonMember& member) {
    GuiSettings& settings = read_.settings;
    if (member.key == "theme")
      settings.theme = read_theme(member.value);
    else if (member.key == "ui_scale")
      settings.ui_scale = read_scale(member.value);
    else if (member.key == "recent_files")
      settings.recent_files = read_recent_files(member.value);
    else if (member.key == "layout")
      settings.layout = read_layout_name(member.value);
    else if (member.key == "window")
      settings.window = read_window(member.value);
    else if (member.key == "history_mib")
      settings.history_mib = member.value.int32({.min = kMinHistoryMib, .max = kMaxHistoryMib});
    else
      note_unknown(member);
  }

  ThemeKind read_theme(const JsonValue& place) {
    const std::string name = place.string();
    if (const auto kind = theme_of_name(name)) return *kind;
    std::string names;
    for (const ThemeKind kind : kThemeKinds)
      names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", theme_name(kind));
    place.expected(fmt::format("one of {}", names));
  }

  double read_scale(const JsonValue& place) { return place.number(kMinUiScale, kMaxUiScale); }

  std::vector<std::string> read_recent_files(const JsonValue& place) {
    std::vector<std::string> files;
    const std::vector<JsonValue> elements = place.elements();
    for (const JsonValue& element : elements) {
      std::string file = element.string();
      if (std::find(files.begin(), files.end(), file) != files.end()) continue;
      if (files.size() < kMaxRecentFiles) files.push_back(std::move(file));
    }
    if (elements.size() > kMaxRecentFiles)
      note(place, fmt::format("{} files; at most the first {} are kept", elements.size(),
                              kMaxRecentFiles));
    return files;
  }

  std::string read_layout_name(const JsonValue& place) {
    std::string name = place.string();
    if (name.empty()) return name;
    if (const Status checked = check_layout_name(name); !checked.ok())
      place.fail(checked.error().message);
    return name;
  }

  WindowSize read_window(const JsonValue& place) {
    constexpr IntegerRange kSide{.min = kMinWindowSide, .max = kMaxWindowSide};
    WindowSize window;
    for (const JsonMember& member : place.members()) {
      if (member.key == "width")
        window.width = member.value.int32(kSide);
      else if (member.key == "height")
        window.height = member.value.int32(kSide);
      else
        note_unknown(member);
    }
    return window;
  }

  void note_unknown(const JsonMember& member) {
    note(member.value,
         fmt::format("there is no setting {}; it was left out", quoted_text(member.key)));
  }

  // Formatted like an error, so it is one line for any key.
  void note(const JsonValue& place, const std::string& what) {
    if (read_.notes.size() == kMaxNotes) return;
    read_.notes.push_back(JsonFault(place.pointer(), what).error(file_).message);
  }

  static constexpr std::size_t kMaxNotes = 100;
  const std::string& file_;
  ReadGuiSettings read_;
};

}  // namespace

std::vector<std::string> with_recent_file(std::vector<std::string> recent_files, std::string file) {
  std::erase(recent_files, file);
  recent_files.insert(recent_files.begin(), std::move(file));
  if (recent_files.size() > kMaxRecentFiles) recent_files.resize(kMaxRecentFiles);
  return recent_files;
}

std::string settings_to_json(const GuiSettings& settings) {
  Json json = Json::object();
  json["theme"] = theme_name(settings.theme);
  json["ui_scale"] = settings.ui_scale;
  json["recent_files"] = settings.recent_files;
  json["layout"] = settings.layout;
  json["window"]["width"] = settings.window.width;
  json["window"]["height"] = settings.window.height;
  json["history_mib"] = settings.history_mib;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<ReadGuiSettings> read_gui_settings(std::string_view text, const std::string& file) {
  const auto document = parse_json({.text = text, .file = file});
  if (!document.ok()) return document.error();
  return read_json(file, [&] { return SettingsReader(file).read(JsonValue(document.value())); });
}

}  // namespace hybridscope
