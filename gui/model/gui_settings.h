// The settings that the workbench keeps between starts, and their JSON text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "gui/model/theme.h"

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

}  // namespace hybridscope
