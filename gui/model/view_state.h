// How the window is arranged and looks: all of it changed by commands.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/layout_tree.h"
#include "gui/model/theme.h"

namespace hybridscope {

struct PanelInfo {
  std::string_view id;     // "block_tables": stable, in layouts and scripts
  std::string_view title;  // "Block tables"
  std::string_view help;   // one sentence
  bool of_a_run = true;    // false: one for both runs of a comparison, also before a first step
};

// What lies over the panels.
enum class Dialog : std::uint8_t {
  none,
  palette,   // finds a command
  argument,  // asks for the argument of one
  keys,      // the hotkey sheet
  session,   // asks which session of a file
  unsaved,   // asks what becomes of edits that would be lost
};

inline constexpr float kLeastScale = 0.5F;
inline constexpr float kMostScale = 4.0F;

struct ViewState {
  std::vector<PanelInfo> panels;  // that there are
  ThemeKind theme = ThemeKind::dark;
  float scale = 1;  // of everything, on top of the monitor's
  LayoutTree layout;
  Dialog dialog = Dialog::none;
  std::string dialog_command;  // Dialog::argument: of which command
  std::string dialog_text;     // what its field begins with
  std::string dialog_error;    // what was wrong with the last one
  std::string focused_panel;   // clicked or shown last; it may have gone since

  const PanelInfo* find_panel(std::string_view id) const;
  // Which panel a command means that names none: the focused one if it is in front of its tabs,
  // else the first that is. Null: no panel is shown.
  const PanelInfo* panel_in_focus() const;
  void close_dialog();
};

// Gives the panel a leaf of its own along the left edge. Answers with a panel that it had for a
// neighbour; empty: it has its own leaf already, or there was none.
std::string set_apart(LayoutTree& layout, const std::string& panel);
// Makes the panel a tab beside `neighbour` again, behind the one in front there; if `neighbour` has
// gone, nothing happens.
void bring_back(LayoutTree& layout, const std::string& panel, std::string_view neighbour);

// Block tables in the largest leaf, the rest around it; panels that there are not are left out.
LayoutTree default_layout(std::span<const PanelInfo> panels);

}  // namespace hybridscope
