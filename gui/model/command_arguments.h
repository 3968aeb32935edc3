// Arguments of commands, read word by word.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "gui/model/shown_run.h"
#include "gui/model/view_state.h"

namespace hybridscope {

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

struct ForkAt;

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
  // A change of the next step as a value, in place of the argument; null: none.
  std::shared_ptr<const ForkAt> edit = nullptr;
  friend bool operator==(const GuiCommand&, const GuiCommand&) = default;
};

// "run.go_to 120".
std::string to_text(const GuiCommand& command);

// One command per line; empty lines and lines that begin with # are ignored. Does not check
// arguments. Error invalid_input, "FILE:3: ...": a line that does not begin with the id of a
// command; near ids are named.
Result<std::vector<GuiCommand>> read_gui_script(std::string_view text, const std::string& file);

}  // namespace hybridscope
