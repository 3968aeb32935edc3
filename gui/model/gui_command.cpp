#include "gui/model/gui_command.h"

#include <fmt/core.h>

#include <algorithm>

#include "gui/model/command_table.h"

namespace hybridscope {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

bool is_id(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
  });
}

}  // namespace

std::string to_text(const GuiCommand& command) {
  return command.argument.empty() ? command.id : command.id + " " + command.argument;
}

Result<std::vector<GuiCommand>> read_gui_script(std::string_view text, const std::string& file) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<GuiCommand> commands;
  for (int number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    const std::string_view id = line.substr(0, line.find_first_of(" \t"));
    if (!is_id(id))
      return Error{ErrorKind::invalid_input,
                   fmt::format("{}:{}: expected the id of a command such as run.step, found \"{}\"",
                               file, number, id)};
    if (find_command(id) == nullptr)
      return Error{ErrorKind::invalid_input,
                   fmt::format("{}:{}: {}", file, number, no_such_command(id))};
    commands.push_back({std::string(id), std::string(trimmed(line.substr(id.size())))});
  }
  return commands;
}

}  // namespace hybridscope
