#include "gui/model/command_table.h"

#include <fmt/core.h>
#include <algorithm>
#include <array>

#include "gui/model/command_arguments.h"
#include "gui/model/workbench.h"

namespace hybridscope {

std::vector<const CommandRow*> all_commands() {
  std::vector<const CommandRow*> all;
  for (const auto& part :
       {file_commands(), edit_commands(), run_commands(), language_commands(), engine_commands(),
        bookmark_commands(), select_commands(), view_commands(), diff_commands(), lesson_commands(),
        plan_commands(), panel_commands()})
    for (const CommandRow& row : part) all.push_back(&row);
  return all;
}

const CommandRow* find_command(std::string_view id) {
  for (const CommandRow* row : all_commands())
    if (row->id == id) return row;
  return nullptr;
}

bool is_possible(const CommandRow& row, const Workbench& workbench) {
  const ShownRun* run = workbench.run();
  switch (row.needs) {
    case CommandNeeds::nothing:
      return true;
    case CommandNeeds::run:
      return run != nullptr;
    case CommandNeeds::opened:
      return run != nullptr || workbench.plan_results() != nullptr;
    case CommandNeeds::step:
      return workbench.has_step();
    case CommandNeeds::job:
      return workbench.job() != nullptr;
    case CommandNeeds::bookmark:
      return run != nullptr && !run->bookmarks().empty();
    case CommandNeeds::finding:
      return run != nullptr && !run->findings().empty();
    case CommandNeeds::plan:
      return run != nullptr && run->plan() != nullptr;
    case CommandNeeds::undo:
      return workbench.plans().can_undo();
    case CommandNeeds::redo:
      return workbench.plans().can_redo();
    case CommandNeeds::banner:
      return !workbench.banner().empty();
    case CommandNeeds::lesson:
      return workbench.lesson() != nullptr;
    case CommandNeeds::comparison:
      return workbench.comparison() != nullptr;
    case CommandNeeds::attached:
      return workbench.attached() != nullptr;
    case CommandNeeds::plan_results:
      return workbench.plan_results() != nullptr;
    case CommandNeeds::unsaved:
      return workbench.is_waiting();
  }
  return false;
}

bool changes_run(const CommandRow& row) {
  if (!row.id.starts_with("edit.") || row.id == "edit.fork") return false;
  return row.needs == CommandNeeds::plan || row.needs == CommandNeeds::undo ||
         row.needs == CommandNeeds::redo;
}

bool may_leave_run(const CommandRow& row) {
  constexpr std::array<std::string_view, 10> kLeaving = {
      "file.open",       "file.close",   "file.quit",     "lesson.open", "lesson.next",
      "lesson.previous", "lesson.close", "lesson.answer", "bug.open",    "plan.run"};
  return std::ranges::find(kLeaving, row.id) != kLeaving.end();
}

bool leaves_run(const CommandRow& row, const std::string& argument, const Workbench& workbench) {
  if (row.id == "lesson.answer")
    return workbench.lesson() != nullptr && answer_moves_on(*workbench.lesson(), argument);
  return may_leave_run(row);
}

std::string what_it_needs(CommandNeeds needs, const ShownRun* run) {
  switch (needs) {
    case CommandNeeds::nothing:
      return "";
    case CommandNeeds::run:
    case CommandNeeds::opened:
      return "nothing is open";
    case CommandNeeds::step:
      return "no step was run yet";
    case CommandNeeds::job:
      return "no file is being written";
    case CommandNeeds::bookmark:
      return "no step is bookmarked: bookmark.add does so";
    case CommandNeeds::finding:
      return "there is no finding in the steps so far";
    case CommandNeeds::plan:
      return run == nullptr ? "nothing is open" : run->why_no_plan();
    case CommandNeeds::undo:
      return "nothing was edited";
    case CommandNeeds::redo:
      return "nothing was undone";
    case CommandNeeds::banner:
      return "there is no banner";
    case CommandNeeds::lesson:
      return "no lesson is taken";
    case CommandNeeds::comparison:
      return "nothing is compared: diff.open opens another run";
    case CommandNeeds::attached:
      return "no engine is attached: hybridscope gui --attach FILE|unix:PATH does so";
    case CommandNeeds::plan_results:
      return "no results of hybridscope plan are open: file.open FILE.jsonl opens them";
    case CommandNeeds::unsaved:
      return "nothing waits for an answer";
  }
  return "";
}

std::string no_such_command(std::string_view id) {
  std::vector<NamedId> ids;
  for (const CommandRow* row : all_commands()) ids.push_back({row->id, row->title});
  const std::string near = near_ids_hint(id, ids);
  return fmt::format("there is no command \"{}\"{}", id,
                     near.empty() ? " (hybridscope gui --commands lists them)" : near);
}

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
