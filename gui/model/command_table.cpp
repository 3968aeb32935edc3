#include "gui/model/command_table.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <tuple>
#include <utility>

#include "gui/model/palette_model.h"
#include "gui/model/workbench.h"
#include "sessions/text/shown_text.h"

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
    case CommandNeeds::nothing: return true;
    case CommandNeeds::run: return run != nullptr;
    case CommandNeeds::opened: return run != nullptr || workbench.plan_results() != nullptr;
    case CommandNeeds::step: return workbench.has_step();
    case CommandNeeds::job: return workbench.job() != nullptr;
    case CommandNeeds::bookmark: return run != nullptr && !run->bookmarks().empty();
    case CommandNeeds::finding: return run != nullptr && !run->findings().empty();
    case CommandNeeds::plan: return run != nullptr && run->plan() != nullptr;
    case CommandNeeds::undo: return workbench.plans().can_undo();
    case CommandNeeds::redo: return workbench.plans().can_redo();
    case CommandNeeds::banner: return !workbench.banner().empty();
    case CommandNeeds::lesson: return workbench.lesson() != nullptr;
    case CommandNeeds::comparison: return workbench.comparison() != nullptr;
    case CommandNeeds::attached: return workbench.attached() != nullptr;
    case CommandNeeds::plan_results: return workbench.plan_results() != nullptr;
    case CommandNeeds::unsaved: return workbench.is_waiting();
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
    case CommandNeeds::nothing: return "";
    case CommandNeeds::run:
    case CommandNeeds::opened: return "nothing is open";
    case CommandNeeds::step: return "no step was run yet";
    case CommandNeeds::job: return "no file is being written";
    case CommandNeeds::bookmark: return "no step is bookmarked: bookmark.add does so";
    case CommandNeeds::finding: return "there is no finding in the steps so far";
    case CommandNeeds::plan: return run == nullptr ? "nothing is open" : run->why_no_plan();
    case CommandNeeds::undo: return "nothing was edited";
    case CommandNeeds::redo: return "nothing was undone";
    case CommandNeeds::banner: return "there is no banner";
    case CommandNeeds::lesson: return "no lesson is taken";
    case CommandNeeds::comparison: return "nothing is compared: diff.open opens another run";
    case CommandNeeds::attached:
      return "no engine is attached: hybridscope gui --attach FILE|unix:PATH does so";
    case CommandNeeds::plan_results:
      return "no results of hybridscope plan are open: file.open FILE.jsonl opens them";
    case CommandNeeds::unsaved: return "nothing waits for an answer";
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

namespace {

// The text between the quote just before `at` and the closing quote; moves `at` past that. Empty:
// the quote is not closed.
std::optional<std::string> take_quoted(std::string_view text, std::size_t& at) {
  std::string word;
  for (; at < text.size(); ++at) {
    if (text[at] == '"' && text.substr(at + 1, 1) != "\"") break;
    if (text[at] == '"') ++at;
    word += text[at];
  }
  if (at == text.size()) return std::nullopt;
  ++at;
  return word;
}

}  // namespace

Result<std::vector<std::string>> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while ((at = text.find_first_not_of(' ', at)) != std::string_view::npos) {
    if (text[at] == '"') {
      std::optional<std::string> word = take_quoted(text, ++at);
      if (!word) return invalid_input(fmt::format("a quote is not closed in: {}", text));
      words.push_back(*std::move(word));
      continue;
    }
    const std::size_t end = std::min(text.find(' ', at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

std::string quoted_word(std::string_view word) {
  const bool plain = !word.empty() && word.find_first_of(" \"") == std::string_view::npos;
  if (plain) return std::string(word);
  std::string text = "\"";
  for (const char letter : word)
    text += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return text + "\"";
}

Result<std::int64_t> read_number(std::string_view word, const NumberRange& range) {
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failure != std::errc{} || end != word.data() + word.size() || value < range.least ||
      value > range.most)
    return invalid_input(fmt::format("{}: expected a whole number from {} to {}, found \"{}\"",
                                     range.what, range.least, range.most, word));
  return value;
}

Result<RequestId> read_request(std::string_view word, const ShownRun& run) {
  const RequestId found = run.find_request(word);
  if (found.value >= 0) return found;
  constexpr std::int32_t kMostListed = 8;
  std::vector<std::string> names;
  for (std::int32_t i = 0; i < std::min(run.num_requests(), kMostListed); ++i)
    names.push_back(run.names().request({i}));
  return invalid_input(fmt::format("there is no request \"{}\" (so far: {}{})", word,
                                   fmt::join(names, ", "),
                                   run.num_requests() > kMostListed ? ", ..." : ""));
}

Result<const PanelInfo*> read_panel(std::string_view word, const ViewState& view) {
  if (const PanelInfo* panel = view.find_panel(word)) return panel;
  std::vector<NamedId> ids;
  std::vector<std::string_view> names;
  for (const PanelInfo& panel : view.panels) {
    ids.push_back({panel.id, panel.title});
    names.push_back(panel.id);
  }
  const std::string near = near_ids_hint(word, ids);
  return invalid_input(
      fmt::format("there is no panel \"{}\"{}", word,
                  near.empty() ? fmt::format(" (there are: {})", fmt::join(names, ", ")) : near));
}

Result<std::vector<std::string>> read_words(std::string_view text, std::string_view usage) {
  auto words = words_of(text);
  if (!words.ok()) return words.error();
  const std::size_t found = words.value().size();
  if (found != words_of(usage).value().size())
    return invalid_input(
        fmt::format("expected {}, found {} word{}", usage, found, found == 1 ? "" : "s"));
  return words;
}

namespace {

constexpr std::size_t kMostNamed = 4;

// The smaller the nearer.
struct Nearness {
  MatchKind kind = MatchKind::scattered;
  std::size_t distance = 0;  // of the spelling
  std::string_view id;
};

Nearness nearness(std::string_view typed, const NamedId& known) {
  Nearness near{.distance = edit_distance(typed, known.id), .id = known.id};
  for (const std::string_view name : {known.id, known.title})
    if (const auto match = fuzzy_match(typed, name)) near.kind = std::min(near.kind, match->kind);
  return near;
}

}  // namespace

std::string near_ids_hint(std::string_view typed, const std::vector<NamedId>& known) {
  const std::size_t most_distant = std::max<std::size_t>(2, typed.size() / 3);
  std::vector<Nearness> near;
  for (const NamedId& name : known) {
    const Nearness found = nearness(typed, name);
    if (found.kind < MatchKind::scattered || found.distance <= most_distant) near.push_back(found);
  }
  std::ranges::stable_sort(near, {},
                           [](const Nearness& n) { return std::tuple(n.kind, n.distance); });
  near.resize(std::min(near.size(), kMostNamed));
  std::string words;
  for (std::size_t i = 0; i < near.size(); ++i)
    words += fmt::format("{}\"{}\"",
                         i == 0                 ? ""
                         : i + 1 == near.size() ? " or "
                                                : ", ",
                         near[i].id);
  return words.empty() ? words : fmt::format(", did you mean {}?", words);
}

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
