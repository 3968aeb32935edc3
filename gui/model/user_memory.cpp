#include "gui/model/user_memory.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "gui/model/open_run.h"
#include "gui/model/user_files.h"

namespace hybridscope {
namespace {

// The layout of the window when it was closed.
constexpr const char* kLastLayout = "last";

}  // namespace

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
