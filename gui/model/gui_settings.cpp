#include "gui/model/gui_settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "gui/model/gui_paths.h"
#include "sessions/text/json_reader.h"
#include "sessions/text/object_reader.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

class SettingsReader {
 public:
  explicit SettingsReader(JsonErrors& errors) : errors_(errors) {}

  ReadGuiSettings read(const JsonPlace& place) {
    for (const JsonMember& member : read_members(place, errors_)) read_member(member);
    return std::move(read_);
  }

 private:
  void read_member(const JsonMember& member) {
    GuiSettings& settings = read_.settings;
    if (member.key == "theme")
      settings.theme = read_theme(member.place);
    else if (member.key == "ui_scale")
      settings.ui_scale = read_scale(member.place);
    else if (member.key == "recent_files")
      settings.recent_files = read_recent_files(member.place);
    else if (member.key == "layout")
      settings.layout = read_layout_name(member.place);
    else if (member.key == "window")
      settings.window = read_window(member.place);
    else
      note_unknown(member);
  }

  ThemeKind read_theme(const JsonPlace& place) {
    const std::string name = read_string(place, errors_);
    if (const auto kind = theme_of_name(name)) return *kind;
    std::string names;
    for (const ThemeKind kind : kThemeKinds)
      names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", theme_name(kind));
    errors_.fail(place.pointer,
                 fmt::format("expected one of {}, found {}", names, quoted_text(name)));
    return {};
  }

  double read_scale(const JsonPlace& place) {
    const double scale = place.value->is_number() ? place.value->get<double>() : 0;
    if (scale >= kMinUiScale && scale <= kMaxUiScale) return scale;
    errors_.fail(place.pointer, fmt::format("expected a number from {} to {}, found {}",
                                            kMinUiScale, kMaxUiScale, describe_json(*place.value)));
    return 1;
  }

  std::vector<std::string> read_recent_files(const JsonPlace& place) {
    std::vector<std::string> files;
    const std::vector<JsonPlace> elements = read_array(place, errors_);
    for (const JsonPlace& element : elements) {
      std::string file = read_string(element, errors_);
      if (std::find(files.begin(), files.end(), file) != files.end()) continue;
      if (files.size() < kMaxRecentFiles) files.push_back(std::move(file));
    }
    if (elements.size() > kMaxRecentFiles)
      note(place, fmt::format("{} files; at most the first {} are kept", elements.size(),
                              kMaxRecentFiles));
    return files;
  }

  std::string read_layout_name(const JsonPlace& place) {
    std::string name = read_string(place, errors_);
    if (name.empty()) return name;
    if (const Status checked = check_layout_name(name); !checked.ok())
      errors_.fail(place.pointer, checked.error().message);
    return name;
  }

  WindowSize read_window(const JsonPlace& place) {
    constexpr IntegerRange kSide{.min = kMinWindowSide, .max = kMaxWindowSide};
    WindowSize window;
    for (const JsonMember& member : read_members(place, errors_)) {
      if (member.key == "width")
        window.width = static_cast<std::int32_t>(read_integer(member.place, kSide, errors_));
      else if (member.key == "height")
        window.height = static_cast<std::int32_t>(read_integer(member.place, kSide, errors_));
      else
        note_unknown(member);
    }
    return window;
  }

  void note_unknown(const JsonMember& member) {
    note(member.place,
         fmt::format("there is no setting {}; it was left out", quoted_text(member.key)));
  }

  // Formatted like an error, so it is one line for any key.
  void note(const JsonPlace& place, const std::string& what) {
    if (read_.notes.size() == kMaxNotes) return;
    JsonErrors line(errors_.file());
    line.fail(place.pointer, what);
    read_.notes.push_back(line.error().message);
  }

  static constexpr std::size_t kMaxNotes = 100;
  JsonErrors& errors_;
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
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<ReadGuiSettings> read_gui_settings(std::string_view text, const std::string& file) {
  const auto document = parse_json({.text = text, .file = file});
  if (!document.ok()) return document.error();
  JsonErrors errors(file);
  ReadGuiSettings read = SettingsReader(errors).read({.value = &document.value(), .pointer = ""});
  if (errors.failed()) return errors.error();
  return read;
}

}  // namespace hybridscope
