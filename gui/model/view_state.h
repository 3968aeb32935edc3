// What the user chose: how the window is arranged and looks, the options of each panel, and the
// selection; changed only by commands.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
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

// The user's choices in each panel; part of the workbench, changed by commands.

// Whose block tables.
enum class TableSide : std::uint8_t { scheduler, worker };

struct BlockTablesOptions {
  TableSide side = TableSide::scheduler;
  std::int32_t cell_size = 0;  // pixels at scale 1, kReadableCells or kAllCells
};

// Cells with their numbers, larger where there is room; the panel scrolls if they do not fit.
inline constexpr std::int32_t kReadableCells = 0;
// All cells of all tables at once. If rows would then be very low, each table fits the panel
// by itself, and the panel scrolls from one to the next.
inline constexpr std::int32_t kAllCells = -1;

// The next larger or smaller size of a cell: about a quarter more or less, at least by one pixel.
inline constexpr std::int32_t kLeastCellSize = 2;
inline constexpr std::int32_t kMostCellSize = 100;
constexpr std::int32_t larger_cell(std::int32_t size) {
  return std::clamp(size * 5 / 4 + 1, kLeastCellSize, kMostCellSize);
}
constexpr std::int32_t smaller_cell(std::int32_t size) {
  return std::clamp(std::min(size * 4 / 5, size - 1), kLeastCellSize, kMostCellSize);
}

// The array that is shown in full; empty: none.
struct MetadataOptions {
  std::int32_t group = -1;  // -1: of the whole batch
  std::string array;
};

struct RequestsOptions {
  std::string sort = "name";  // one of request_sort_names()
  bool descending = false;
};

inline constexpr std::int32_t kMostTimelineSteps = 120;
struct TimelineOptions {
  std::int32_t num_steps = 21;  // around the shown step
};

// The differences that are listed, and visited with F8 and F7: those that contain the text
// (ignoring case); empty: all.
struct DifferencesOptions {
  std::string filter;
};

// The known bugs that are listed: those that contain the text (ignoring case); empty: all.
struct KnownBugsOptions {
  std::string filter;
};

// What the panel Text shows of the selected request.
struct TextOptions {
  std::int32_t token = 0;  // generated token, from 1, whose probabilities are shown; 0: the last
};

// What combinations of a plan are sorted by.
struct PlanOptions {
  std::string sort = "rank";  // or the name of a column
  bool descending = false;
};

struct PanelOptions {
  BlockTablesOptions block_tables;
  MetadataOptions metadata;
  RequestsOptions requests;
  TimelineOptions timeline;
  DifferencesOptions differences;
  KnownBugsOptions known_bugs;
  TextOptions text;
  PlanOptions plan;
};

// The selection, shared by all panels. Stepping never changes it. It identifies requests by name
// and blocks by the cell in which they were picked, so that two compared runs show the same.

class ShownRun;

// Members that select nothing are -1 or empty.
struct Selection {
  RequestId request{};  // in the run that is drawn; -1 also if that lacks the name
  std::int32_t group = -1;
  std::int32_t column = -1;  // of the request's block table in the group
  std::int32_t block = -1;
  std::string request_name = {};
  // The block was selected as the content of the cell (request, group, column) of this table.
  bool is_cell = false;
  TableSide side = TableSide::scheduler;
  std::ptrdiff_t finding = -1;  // index in the run's list of the last one gone to
  friend bool operator==(const Selection&, const Selection&) = default;
};

// The block of the cell at the shown step; -1: none, or no step is shown.
std::int32_t block_of_cell(const ShownRun& run, const Selection& cell);

// `chosen` with this block instead: in the chosen cell if that has it, else with a request and
// group that hold it (the chosen request if it does), else without a request.
Selection with_block(const ShownRun& run, Selection chosen, std::int32_t block);
// `chosen` with this request instead, and without the previous cell and block.
Selection with_request(Selection chosen, std::string name);

// What `chosen` means in `run`: the request with that name at the shown step, or the last one
// before it; the block of the same cell, or with the same number.
Selection selection_in(const ShownRun& run, const Selection& chosen);

// Facts for tooltips and details, one per line.

struct Fact {
  std::string label;
  std::string value;
  friend bool operator==(const Fact&, const Fact&) = default;
};

}  // namespace hybridscope
