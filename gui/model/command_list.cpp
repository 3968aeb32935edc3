#include "gui/model/command_list.h"

#include <fmt/core.h>

#include "gui/model/command_table.h"

namespace hybridscope {
namespace {

std::string command_line(const CommandRow& row) {
  const std::string call =
      row.argument.empty() ? std::string(row.id) : fmt::format("{} {}", row.id, row.argument);
  std::string line = fmt::format("{} {:<40}  {}{}{}", changes_run(row) ? "*" : " ", call, row.menu,
                                 row.menu.empty() ? "" : ": ", row.title);
  if (!row.keys.empty()) line += fmt::format("  [{}]", row.keys);
  return line;
}

}  // namespace

std::string command_list(std::span<const PanelInfo> panels) {
  std::string text = "Commands: id and argument, title, [keys]; * changes the run\n\n";
  for (const CommandRow* row : all_commands()) text += command_line(*row) + "\n";
  if (!panels.empty()) text += "\nPanels: id, title\n\n";
  for (const PanelInfo& panel : panels)
    text += fmt::format("  {:<40}  {}\n", panel.id, panel.title);
  return text;
}

}  // namespace hybridscope
