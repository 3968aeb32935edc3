// Every command of the workbench, one row each: menus, palette, keys, hotkey sheet and scripts read
// this table and nothing else.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "gui/model/view_state.h"

namespace hybridscope {

class LessonSession;
class ShownRun;
class Workbench;

// What a command needs.
enum class CommandNeeds : std::uint8_t {
  nothing,
  run,       // a run is open
  opened,    // a run is open, or results of `hybridscope plan`
  step,      // something is open and a step of it is shown
  job,       // a file is being written
  bookmark,  // a step is bookmarked
  finding,   // a finding is known
  plan,      // the open run has a plan that our engine can run
  undo,
  redo,
  banner,
  lesson,        // a lesson is being taken
  comparison,    // another run is compared with
  attached,      // an engine is attached
  plan_results,  // results of `hybridscope plan` are open
  unsaved,       // a command waits for the answer about unsaved edits
};
inline constexpr CommandNeeds kNeedsNothing = CommandNeeds::nothing;
inline constexpr CommandNeeds kNeedsRun = CommandNeeds::run;

struct CommandRow {
  std::string_view id;        // "run.go_to": stable, in scripts and settings
  std::string_view menu;      // "Run"; empty: in no menu
  std::string_view title;     // "Go to step..."
  std::string_view keys;      // "Ctrl+G"; several separated by spaces; empty: none
  std::string_view argument;  // "STEP"; empty: takes none
  CommandNeeds needs = CommandNeeds::nothing;
  Status (*apply)(Workbench&, const std::string& argument) = nullptr;
  // The initial text of the dialog that asks for the argument; null: none.
  std::string (*suggest)(const Workbench&) = nullptr;
};

// The table in parts, one per menu, in the order of the menus.
std::span<const CommandRow> file_commands();      // commands_file.cpp
std::span<const CommandRow> edit_commands();      // commands_edit.cpp
std::span<const CommandRow> run_commands();       // commands_run.cpp
std::span<const CommandRow> language_commands();  // commands_language.cpp
std::span<const CommandRow> engine_commands();    // commands_engine.cpp
std::span<const CommandRow> bookmark_commands();  // commands_select.cpp
std::span<const CommandRow> select_commands();    // commands_select.cpp
std::span<const CommandRow> view_commands();      // commands_view.cpp
std::span<const CommandRow> lesson_commands();    // commands_panels.cpp
std::span<const CommandRow> diff_commands();      // commands_diff.cpp
std::span<const CommandRow> plan_commands();      // commands_plan.cpp
std::span<const CommandRow> panel_commands();     // commands_panels.cpp
// The whole table.
std::vector<const CommandRow*> all_commands();
// The row of a command; null: there is none.
const CommandRow* find_command(std::string_view id);
bool is_possible(const CommandRow& row, const Workbench& workbench);
// Does it change the run from the next step on, or take such a change back?
bool changes_run(const CommandRow& row);
// Is there an argument with which it closes the shown run?
bool may_leave_run(const CommandRow& row);
// Does it close the shown run, and with it the run's edits?
bool leaves_run(const CommandRow& row, const std::string& argument, const Workbench& workbench);
// Does the part wait only for this argument of lesson.answer?
bool answer_moves_on(const LessonSession& lesson, const std::string& argument);
// "nothing is open". `run`: the shown run, null: none.
std::string what_it_needs(CommandNeeds needs, const ShownRun* run);
// "there is no command "run.stp", did you mean "run.step"?", or where the ids are listed.
std::string no_such_command(std::string_view id);

// The ids that commands and scripts are written with, as text.

// A line for each command (id, argument, menu and title, keys; an asterisk: it changes the run),
// and for each panel (id, title). Ends with a newline.
std::string command_list(std::span<const PanelInfo> panels);

}  // namespace hybridscope
