// Every command of the workbench, one row each: menus, palette, keys, hotkey sheet and scripts read
// this table and nothing else. Also the arguments of commands, read word by word.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "gui/model/shown_run.h"
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
std::span<const CommandRow> edit_commands();      // workbench_edits.cpp
std::span<const CommandRow> run_commands();       // commands_run.cpp
std::span<const CommandRow> language_commands();  // commands_panels.cpp
std::span<const CommandRow> engine_commands();    // commands_run.cpp
std::span<const CommandRow> bookmark_commands();  // commands_select.cpp
std::span<const CommandRow> select_commands();    // commands_select.cpp
std::span<const CommandRow> view_commands();      // commands_view.cpp
std::span<const CommandRow> lesson_commands();    // commands_panels.cpp
std::span<const CommandRow> diff_commands();      // commands_file.cpp
std::span<const CommandRow> plan_commands();      // commands_panels.cpp
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

// Arguments of commands, read word by word.

// Words separated by spaces; a word in double quotes may contain spaces, and quotes inside it are
// doubled. Error: a quote that is not closed.
Result<std::vector<std::string>> words_of(std::string_view text);

// The inverse: in double quotes if the word contains spaces or quotes.
std::string quoted_word(std::string_view word);

// A whole number from `least` to `most`. Error: "STEP: expected a whole number from 1 to 9, found
// "x"".
struct NumberRange {
  std::string_view what{};
  std::int64_t least = 0;
  std::int64_t most = 0;
};
Result<std::int64_t> read_number(std::string_view word, const NumberRange& range);

// A request of the run by its name. Error: there is none; the message lists the names if they are
// few.
Result<RequestId> read_request(std::string_view word, const ShownRun& run);

// A panel by its id. Error: there is none; the message names near ones, or all if none is near.
Result<const PanelInfo*> read_panel(std::string_view word, const ViewState& view);

// Error: the number of words differs from that of `usage`: "expected REQUEST COUNT, found 1 word".
Result<std::vector<std::string>> read_words(std::string_view text, std::string_view usage);

// Which ids someone may have meant who typed one that does not exist.

struct NamedId {
  std::string_view id;     // "batch_rows"
  std::string_view title;  // "Batch rows"
};

// ", did you mean "batch_rows" or "findings"?": four ids at most, first those whose id or title has
// the typed words at the beginnings of its words, then those spelled nearly so. Empty: there is
// none.
std::string near_ids_hint(std::string_view typed, const std::vector<NamedId>& known);

// A command that drawing emits and the workbench applies: an id and an argument, the same from a
// script, a key, a menu, the palette or a click.

// What commands leave to the drawing code: the workbench itself has no clipboard and no picture.

// A request for a picture of a panel.
struct PanelPicture {
  std::string path;
  std::string panel;  // its id
};

struct Outbox {
  std::optional<std::string> clipboard;
  std::vector<PanelPicture> pictures;  // in the order in which they were asked for

  std::optional<std::string> take_clipboard() { return std::exchange(clipboard, std::nullopt); }
};

// Which of two compared runs a command was drawn in.
enum class CompareSide : std::uint8_t { left, right };

struct GuiCommand {
  std::string id;                        // "run.go_to"
  std::string argument = {};             // "120"; empty: none
  CompareSide side = CompareSide::left;  // scripts and keys mean the left one
  friend bool operator==(const GuiCommand&, const GuiCommand&) = default;
};

// "run.go_to 120".
std::string to_text(const GuiCommand& command);

// One command per line; empty lines and lines that begin with # are ignored. Does not check
// arguments. Error invalid_input, "FILE:3: ...": a line that does not begin with the id of a
// command; near ids are named.
Result<std::vector<GuiCommand>> read_gui_script(std::string_view text, const std::string& file);

}  // namespace hybridscope
