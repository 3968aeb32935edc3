// Every command of the workbench, one row each: menus, palette, keys, hotkey sheet and scripts read
// this table and nothing else.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hybridscope {

class LessonSession;
class ShownRun;
class Workbench;

// What must be there before a command is possible.
enum class CommandNeeds : std::uint8_t {
  nothing,
  run,       // something is open
  step,      // and a step of it is shown
  job,       // a file is being written
  bookmark,  // a step is bookmarked
  finding,   // one is known
  plan,      // something is open that our engine can run
  undo,
  redo,
  banner,
  lesson,      // one is taken
  comparison,  // another run is compared with
  unsaved,     // a command waits until it is said what becomes of edits
};
inline constexpr CommandNeeds kNeedsNothing = CommandNeeds::nothing;
inline constexpr CommandNeeds kNeedsRun = CommandNeeds::run;

struct CommandRow {
  std::string_view id;        // "run.go_to": stable, in scripts and settings
  std::string_view menu;      // "Run"; empty: in no menu
  std::string_view title;     // "Go to step..."
  std::string_view keys;      // "Ctrl+G"; several with a space between; empty: none
  std::string_view argument;  // "STEP"; empty: takes none
  CommandNeeds needs = CommandNeeds::nothing;
  Status (*apply)(Workbench&, const std::string& argument) = nullptr;
  // What the dialog that asks for the argument begins with; null: nothing.
  std::string (*suggest)(const Workbench&) = nullptr;
};

// The table in its parts, one a menu, in the order of the menus.
std::span<const CommandRow> file_commands();      // commands_file.cpp
std::span<const CommandRow> edit_commands();      // commands_edit.cpp
std::span<const CommandRow> run_commands();       // commands_run.cpp
std::span<const CommandRow> bookmark_commands();  // commands_bookmark.cpp
std::span<const CommandRow> select_commands();    // commands_select.cpp
std::span<const CommandRow> view_commands();      // commands_view.cpp
std::span<const CommandRow> lesson_commands();    // commands_lesson.cpp
std::span<const CommandRow> diff_commands();      // commands_diff.cpp
std::span<const CommandRow> panel_commands();     // commands_panels.cpp
// The whole of it.
std::vector<const CommandRow*> all_commands();
// Null: there is none.
const CommandRow* find_command(std::string_view id);
bool is_possible(const CommandRow& row, const Workbench& workbench);
// Does it leave the run that is shown, with the edits that were made of it?
bool leaves_run(const CommandRow& row, const std::string& argument, const Workbench& workbench);
// Would the argument of lesson.answer be the last answer that the part waits for?
bool answer_moves_on(const LessonSession& lesson, const std::string& argument);
// "nothing is open". `run`: that is shown, null: none.
std::string what_it_needs(CommandNeeds needs, const ShownRun* run);
// " (did you mean run.step?)"; empty: nothing is like it.
std::string similar_commands(std::string_view id);

}  // namespace hybridscope
