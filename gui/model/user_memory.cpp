#include "gui/model/user_memory.h"

#include <fmt/core.h>
#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "gui/model/gui_settings.h"
#include "gui/model/open_run.h"
#include "sessions/text/json_reader.h"
#include "sessions/text/output_file.h"

namespace hybridscope {

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
