// How the window is arranged and looks; changed only by commands.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/layout_tree.h"
#include "gui/model/theme.h"

namespace hybridscope {

struct Picture;
class Workbench;

// Whose state a panel shows. run: that of the open run, in a comparison of each of the two, once a
// step is shown. workbench: one for both runs of a comparison, shown even before a first step.
// plan: likewise, and its picture needs results of `hybridscope plan` in place of a run.
enum class PanelOf : std::uint8_t { run, workbench, plan };

// The part of the default layout in which a panel is a tab.
enum class PanelArea : std::uint8_t { none, left_top, left_bottom, right_top, right_bottom };

struct PanelInfo {
  std::string_view id;     // "block_tables": stable, in layouts and scripts
  std::string_view title;  // "Block tables"
  std::string_view help;   // one sentence
  PanelOf of = PanelOf::run;
  // What it shows, for the drawn run (Workbench::SideScope): the window draws the picture of a
  // panel without drawing code, and that of every panel is copied. Null: it has nothing to copy.
  // Requires: a step is shown; for PanelOf::plan, a plan is open.
  Picture (*make)(Workbench&) = nullptr;
  PanelArea area = PanelArea::none;
  std::int32_t tab = 0;  // its place among the tabs of the area: from the smallest to the largest
};

// The dialog over the panels.
enum class Dialog : std::uint8_t {
  none,
  palette,   // finds a command
  argument,  // asks for a command's argument
  keys,      // the hotkey sheet
  session,   // asks which session of a file
  unsaved,   // asks what to do with edits that would be lost
};

inline constexpr float kLeastScale = 0.5F;
inline constexpr float kMostScale = 4.0F;

struct ViewState {
  std::vector<PanelInfo> panels;  // all panels
  ThemeKind theme = ThemeKind::dark;
  float scale = 1;  // of everything, multiplied by the monitor's
  LayoutTree layout;
  Dialog dialog = Dialog::none;
  std::string dialog_command;  // Dialog::argument: the command
  std::string dialog_text;     // the initial text of its field
  std::string dialog_error;    // what was wrong with the last input
  std::string focused_panel;   // clicked or shown last; it may no longer exist

  const PanelInfo* find_panel(std::string_view id) const;
  // The panel of a command that names none: the focused one if it is in front of its tabs, else the
  // first that is. Null: no panel is shown.
  const PanelInfo* panel_in_focus() const;
  void close_dialog();
};

// Moves the panel into a separate leaf along the left edge. Returns one of its former neighbours;
// empty: it had a separate leaf already, or was not shown.
std::string set_apart(LayoutTree& layout, const std::string& panel);
// Makes the panel a tab beside `neighbour` again, after the tab in front there; no effect if
// `neighbour` is not shown.
void bring_back(LayoutTree& layout, const std::string& panel, std::string_view neighbour);

// Block tables in the largest leaf, the rest around it; panels that do not exist are left out.
LayoutTree default_layout(std::span<const PanelInfo> panels);

}  // namespace hybridscope
