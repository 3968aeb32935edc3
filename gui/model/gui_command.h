// A command that drawing emits and the workbench applies: an id and an argument, the same from a
// script, a key, a menu, the palette or a click.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace hybridscope {

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
