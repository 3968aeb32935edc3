#include "gui/model/gui_settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "gui/model/open_run.h"
#include "sessions/text/json_reader.h"
#include "sessions/text/json_value.h"
#include "sessions/text/output_file.h"

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

namespace fs = std::filesystem;

Status write_user_file(const std::string& path, std::string_view text) {
  std::error_code error;
  const fs::path folder = fs::path(path).parent_path();
  fs::create_directories(folder, error);
  if (error)
    return Error{ErrorKind::not_available,
                 fmt::format("cannot make the folder {}: {}", folder.string(), error.message())};
  const bool is_link = fs::is_symlink(path, error);
  const fs::path target = is_link ? fs::weakly_canonical(path, error) : fs::path(path);
  return write_output_file(error ? path : target.string(), text);
}

Result<ReadGuiSettings> load_gui_settings(const std::string& path) {
  std::error_code error;
  if (fs::status(path, error).type() == fs::file_type::not_found) return ReadGuiSettings{};
  const auto text = read_text_file(path);
  if (!text.ok()) return text.error();
  return read_gui_settings(text.value(), path);
}

Status save_gui_settings(const std::string& path, const GuiSettings& settings) {
  return write_user_file(path, settings_to_json(settings));
}

namespace {

// The layout of the window when it was closed.
constexpr const char* kLastLayout = "last";

}  // namespace

namespace fs = std::filesystem;
namespace {

constexpr std::string_view kSuffix = ".json";

bool is_missing(const std::error_code& error) {
  return error == std::errc::no_such_file_or_directory;
}

// The name of the layout in a file; empty: not a layout file.
std::string name_of(const fs::directory_entry& entry) {
  std::error_code error;
  std::string name = entry.path().filename().string();
  if (!name.ends_with(kSuffix) || !entry.is_regular_file(error)) return {};
  name.resize(name.size() - kSuffix.size());
  return check_layout_name(name).ok() ? name : std::string();
}

}  // namespace

Result<std::string> LayoutStore::path_of(const std::string& name) const {
  if (const Status checked = check_layout_name(name); !checked.ok()) return checked.error();
  return fmt::format("{}/{}{}", folder_, name, kSuffix);
}

Error LayoutStore::missing(const std::string& name) const {
  return {ErrorKind::not_found, fmt::format("there is no layout \"{}\" in {}", name, folder_)};
}

Result<std::vector<std::string>> LayoutStore::names() const {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(folder_, error);
  if (is_missing(error)) return names;
  for (; !error && entry != fs::directory_iterator(); entry.increment(error))
    if (std::string name = name_of(*entry); !name.empty()) names.push_back(std::move(name));
  if (error)
    return Error{ErrorKind::io, fmt::format("cannot list {}: {}", folder_, error.message())};
  std::sort(names.begin(), names.end());
  return names;
}

Result<ReadLayout> LayoutStore::load(const std::string& name, const IsKnownPanel& is_known) const {
  const auto path = path_of(name);
  if (!path.ok()) return path.error();
  std::error_code error;
  if (fs::status(path.value(), error).type() == fs::file_type::not_found) return missing(name);
  const auto text = read_text_file(path.value());
  if (!text.ok()) return text.error();
  return read_layout(text.value(), path.value(), is_known);
}

Status LayoutStore::save(const std::string& name, const LayoutTree& tree) const {
  const auto path = path_of(name);
  if (!path.ok()) return path.error();
  return write_user_file(path.value(), layout_to_json(tree));
}

Status LayoutStore::remove(const std::string& name) const {
  const auto path = path_of(name);
  if (!path.ok()) return path.error();
  std::error_code error;
  if (fs::remove(path.value(), error)) return Ok{};
  if (!error) return missing(name);
  return Error{ErrorKind::io, fmt::format("cannot delete {}: {}", path.value(), error.message())};
}

Result<UserMemory> UserMemory::at(const EnvironmentLookup& lookup) {
  auto settings = settings_path(lookup);
  if (!settings.ok()) return settings.error();
  auto layouts = layouts_folder(lookup);
  if (!layouts.ok()) return layouts.error();
  UserMemory memory;
  memory.settings_path_ = std::move(settings).value();
  memory.layouts_folder_ = std::move(layouts).value();
  return memory;
}

Result<LayoutStore> UserMemory::store() const {
  if (layouts_folder_.empty())
    return Error{ErrorKind::not_found,
                 "no folder for layouts is known: neither XDG_STATE_HOME nor HOME "
                 "is set"};
  return LayoutStore(layouts_folder_);
}

std::vector<std::string> UserMemory::recall(ViewState& view) {
  if (settings_path_.empty()) return {};
  auto read = load_gui_settings(settings_path_);
  if (!read.ok()) {
    settings_are_ours_ = false;
    return {read.error().message};
  }
  std::vector<std::string> notes = std::move(read.value().notes);
  settings_ = std::move(read.value().settings);
  view.theme = settings_.theme;
  view.scale = static_cast<float>(settings_.ui_scale);
  if (settings_.layout.empty()) return notes;
  auto layout = load_layout(settings_.layout, view);
  if (!layout.ok()) {
    if (layout.error().kind != ErrorKind::not_found) notes.push_back(layout.error().message);
    return notes;
  }
  notes.insert(notes.end(), layout.value().notes.begin(), layout.value().notes.end());
  if (!layout.value().tree.empty()) view.layout = layout.value().tree;
  return notes;
}

Status UserMemory::keep(const ViewState& view) {
  if (settings_path_.empty() || !settings_are_ours_) return Ok{};
  settings_.theme = view.theme;
  settings_.ui_scale = static_cast<double>(view.scale);
  settings_.layout = kLastLayout;
  auto layouts = store();
  if (!layouts.ok()) return layouts.error();
  if (Status saved = layouts.value().save(kLastLayout, view.layout); !saved.ok()) return saved;
  return save_gui_settings(settings_path_, settings_);
}

void UserMemory::add_recent_file(const std::string& file) {
  if (file.starts_with(kShippedPrefix)) {
    settings_.recent_files = with_recent_file(std::move(settings_.recent_files), file);
    return;
  }
  std::error_code failure;
  const std::filesystem::path whole = std::filesystem::absolute(file, failure);
  settings_.recent_files = with_recent_file(std::move(settings_.recent_files),
                                            failure ? file : whole.lexically_normal().string());
}

Result<std::vector<std::string>> UserMemory::layout_names() const {
  auto layouts = store();
  if (!layouts.ok()) return layouts.error();
  return layouts.value().names();
}

Status UserMemory::save_layout(const std::string& name, const LayoutTree& layout) const {
  if (name == kLastLayout)
    return invalid_input(fmt::format(
        "\"{}\" is the layout that the window had when it was closed: choose another name", name));
  auto layouts = store();
  if (!layouts.ok()) return layouts.error();
  return layouts.value().save(name, layout);
}

Result<ReadLayout> UserMemory::load_layout(const std::string& name, const ViewState& view) const {
  auto layouts = store();
  if (!layouts.ok()) return layouts.error();
  return layouts.value().load(name,
                              [&](std::string_view id) { return view.find_panel(id) != nullptr; });
}

Status UserMemory::remove_layout(const std::string& name) const {
  auto layouts = store();
  if (!layouts.ok()) return layouts.error();
  return layouts.value().remove(name);
}

}  // namespace hybridscope
