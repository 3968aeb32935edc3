// What the workbench keeps between starts: settings with their JSON text, recent files, layouts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "gui/model/layout_tree.h"
#include "gui/model/theme.h"
#include "gui/model/view_state.h"

namespace hybridscope {

// Where the workbench keeps what it remembers (XDG Base Directory Specification).

// The value of a variable, "" when it is not set.
using EnvironmentLookup = std::function<std::string(const char* name)>;

// Error of both, not_available: no variable names an absolute folder; relative ones are ignored.
// $XDG_CONFIG_HOME/hybridscope/settings.json, else below $HOME/.config.
Result<std::string> settings_path(const EnvironmentLookup& lookup);
// $XDG_STATE_HOME/hybridscope/layouts, else below $HOME/.local/state.
Result<std::string> layouts_folder(const EnvironmentLookup& lookup);

// A layout's name is a file name: 1 to 64 ASCII letters, digits, spaces, '-', '_' and '.', without
// a leading dot or space or a trailing space. Error invalid_input: anything else.
Status check_layout_name(std::string_view name);

inline constexpr std::size_t kMaxRecentFiles = 12;
inline constexpr double kMinUiScale = 0.5;
inline constexpr double kMaxUiScale = 4.0;
inline constexpr std::int32_t kMinWindowSide = 200;
inline constexpr std::int32_t kMaxWindowSide = 16384;
inline constexpr std::int32_t kMinHistoryMib = 16;
inline constexpr std::int32_t kMaxHistoryMib = 1 << 20;

struct WindowSize {
  std::int32_t width = 1600;  // kMinWindowSide to kMaxWindowSide, as is the height
  std::int32_t height = 1000;
  friend bool operator==(const WindowSize&, const WindowSize&) = default;
};

struct GuiSettings {
  ThemeKind theme = ThemeKind::dark;
  double ui_scale = 1.0;                  // kMinUiScale to kMaxUiScale
  std::vector<std::string> recent_files;  // newest first, at most kMaxRecentFiles, none twice
  std::string layout;                     // name of the last one; empty: none
  WindowSize window;
  // What a live run may keep of its steps (ShownRun::limit_history), kMinHistoryMib to
  // kMaxHistoryMib.
  std::int32_t history_mib = 2048;
  friend bool operator==(const GuiSettings&, const GuiSettings&) = default;
};

// `recent_files` with `file` in front, once; the oldest is dropped when there are too many.
std::vector<std::string> with_recent_file(std::vector<std::string> recent_files, std::string file);

// File names that are not UTF-8 are written with replacement characters.
std::string settings_to_json(const GuiSettings& settings);

struct ReadGuiSettings {
  GuiSettings settings;
  std::vector<std::string> notes;  // "FILE: POINTER: ...", one for each setting that was ignored
};

// Absent settings have their defaults. An unknown key (of a newer program, say) is ignored with a
// note. Error corrupt: not JSON; invalid_input: a value of the wrong type or out of range.
Result<ReadGuiSettings> read_gui_settings(std::string_view text, const std::string& file);

// What the workbench remembers between starts: look, recent files, layouts. Without a folder it
// remembers nothing, so that tests and screenshots neither read nor write the user's files.

// The small files in which the workbench keeps its memory: read at start, written as a whole.

// Writes the whole file or leaves it as it was; creates folders and keeps links. Error
// not_available: a folder or the file cannot be created, in a read-only home, say.
Status write_user_file(const std::string& path, std::string_view text);

// Defaults if there is no file. Errors: io, the file cannot be read; those of read_gui_settings.
// The caller then continues with the defaults and leaves the file alone.
Result<ReadGuiSettings> load_gui_settings(const std::string& path);
// Errors: those of write_user_file.
Status save_gui_settings(const std::string& path, const GuiSettings& settings);

// Named layouts, one file each in a folder.

// Keeps only the folder's name, so changes by other programs are seen at once. Names must pass
// check_layout_name; any other is error invalid_input.
class LayoutStore {
 public:
  explicit LayoutStore(std::string folder) : folder_(std::move(folder)) {}

  // In ascending order of bytes, without files whose name is not a layout's. None without the
  // folder. Error io: the folder cannot be read.
  Result<std::vector<std::string>> names() const;
  // Errors: not_found; io, the file cannot be read; those of read_layout.
  Result<ReadLayout> load(const std::string& name, const IsKnownPanel& is_known) const;
  // Overwrites a layout of that name. Errors: those of write_user_file.
  Status save(const std::string& name, const LayoutTree& tree) const;
  // Errors: not_found; io, the file cannot be deleted.
  Status remove(const std::string& name) const;

 private:
  Result<std::string> path_of(const std::string& name) const;
  Error missing(const std::string& name) const;

  std::string folder_;
};

class UserMemory {
 public:
  UserMemory() = default;  // remembers nothing
  // Error not_available: no variable names a folder.
  static Result<UserMemory> at(const EnvironmentLookup& lookup);

  // Restores what was remembered. Returns a note for the user about each thing that could not be
  // restored; settings that cannot be read are left alone from then on.
  std::vector<std::string> recall(ViewState& view);
  // Saves look, recent files and layout. Error: the files cannot be written.
  Status keep(const ViewState& view);

  const std::vector<std::string>& recent_files() const { return settings_.recent_files; }
  void add_recent_file(const std::string& file);
  const WindowSize& window() const { return settings_.window; }
  void set_window(WindowSize window) { settings_.window = window; }
  std::size_t history_bytes() const {
    return static_cast<std::size_t>(settings_.history_mib) << 20;
  }

  // Layouts by name; error not_available where nothing is remembered. "last" is reserved for
  // keep().
  Result<std::vector<std::string>> layout_names() const;
  Status save_layout(const std::string& name, const LayoutTree& layout) const;
  Result<ReadLayout> load_layout(const std::string& name, const ViewState& view) const;
  Status remove_layout(const std::string& name) const;

 private:
  Result<LayoutStore> store() const;

  std::string settings_path_;  // empty: nothing is remembered
  std::string layouts_folder_;
  bool settings_are_ours_ = true;  // false: they could not be read, and are not overwritten
  GuiSettings settings_;
};

}  // namespace hybridscope
