// Commands that change the selection.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "gui/model/command_table.h"
#include "gui/model/workbench.h"

namespace hybridscope {

namespace {

// The last bookmark of the shown step; null: none.
const ShownBookmark* bookmark_here(const Workbench& workbench) {
  const ShownBookmark* found = nullptr;
  for (const ShownBookmark& bookmark : workbench.run()->bookmarks())
    if (bookmark.step == workbench.run()->step()) found = &bookmark;
  return found;
}

Status set(Workbench& workbench, const std::string& note) {
  ShownRun& run = *workbench.run();
  if (Status done = run.set_bookmark(run.step(), note); !done.ok()) return done;
  workbench.say(NoticeKind::info, fmt::format("step {} is bookmarked", run.step()));
  return Ok{};
}

Status add(Workbench& workbench, const std::string&) {
  if (bookmark_here(workbench) == nullptr) return set(workbench, {});
  workbench.say(NoticeKind::info,
                fmt::format("step {} is bookmarked already; bookmark.note changes its note",
                            workbench.run()->step()));
  return Ok{};
}

// A note with several lines cannot be edited in the single line of the dialog.
std::string note_here(const Workbench& workbench) {
  const ShownBookmark* here = bookmark_here(workbench);
  return here == nullptr || here->note.find('\n') != std::string::npos ? std::string() : here->note;
}

Status remove(Workbench& workbench, const std::string&) {
  ShownRun& run = *workbench.run();
  if (Status done = run.remove_bookmarks(run.step()); !done.ok()) return done;
  workbench.say(NoticeKind::info, fmt::format("step {} is no longer bookmarked", run.step()));
  return Ok{};
}

template <bool forward>
Status bookmark_to(Workbench& workbench, const std::string&) {
  workbench.control().pause();
  const std::int64_t here = workbench.run()->step();
  auto known = bookmarks_of_known_steps(*workbench.run());
  if (!forward) std::ranges::reverse(known);
  const auto found = std::ranges::find_if(known, [&](const ShownBookmark& bookmark) {
    return forward ? bookmark.step > here : bookmark.step < here;
  });
  if (found == known.end()) {
    workbench.say(NoticeKind::info,
                  fmt::format("no step {} this one is bookmarked", forward ? "after" : "before"));
    return Ok{};
  }
  if (Status moved = workbench.go_to(found->step); !moved.ok()) return moved;
  workbench.say(NoticeKind::info, fmt::format("bookmark at step {}{}{}", found->step,
                                              found->note.empty() ? "" : ": ", found->note));
  return Ok{};
}

constexpr CommandNeeds kStep = CommandNeeds::step;
constexpr CommandNeeds kBookmark = CommandNeeds::bookmark;

constexpr CommandRow kBookmarkCommands[] = {
    {"bookmark.add", "Run", "Bookmark this step", "Ctrl+B", "", kStep, add},
    {"bookmark.note", "Run", "Bookmark this step with a note, or change its note", "Ctrl+Shift+B",
     "NOTE", kStep, set, note_here},
    {"bookmark.remove", "Run", "Remove the bookmark of this step", "Ctrl+Alt+B", "", kBookmark,
     remove},
    {"bookmark.next", "Run", "Next bookmark", "F2", "", kBookmark, bookmark_to<true>},
    {"bookmark.previous", "Run", "Previous bookmark", "Shift+F2", "", kBookmark,
     bookmark_to<false>},
};

std::int32_t num_groups(const Workbench& workbench) {
  return static_cast<std::int32_t>(workbench.run()->config().kv_cache_config.groups.size());
}

// A request of either compared run can be selected.
Status check_request(const Workbench& workbench, const std::string& name) {
  const Comparison* comparison = workbench.comparison();
  if (comparison != nullptr && comparison->other().find_request(name).value >= 0) return Ok{};
  const auto request = read_request(name, *workbench.run());
  return request.ok() ? Status(Ok{}) : Status(request.error());
}

Status select_request(Workbench& workbench, const std::string& argument) {
  const auto words = read_words(argument, "REQUEST");
  if (!words.ok()) return words.error();
  if (Status known = check_request(workbench, words.value()[0]); !known.ok()) return known;
  workbench.select(with_request(workbench.selection(), words.value()[0]));
  return Ok{};
}

Status select_group(Workbench& workbench, const std::string& argument) {
  const auto group = read_number(argument, {"GROUP", 0, num_groups(workbench) - 1});
  if (!group.ok()) return group.error();
  Selection chosen = workbench.selection();
  chosen.group = static_cast<std::int32_t>(group.value());
  workbench.select(std::move(chosen));
  return Ok{};
}

Status select_block(Workbench& workbench, const std::string& argument) {
  const std::int32_t num_blocks = workbench.run()->config().kv_cache_config.num_blocks;
  const auto block = read_number(argument, {"BLOCK", 0, num_blocks - 1});
  if (!block.ok()) return block.error();
  workbench.select(with_block(*workbench.run(), workbench.selection(),
                              static_cast<std::int32_t>(block.value())));
  return Ok{};
}

Result<TableSide> read_table(const std::vector<std::string>& words, TableSide shown) {
  if (words.size() < 4) return shown;
  if (words[3] == "scheduler") return TableSide::scheduler;
  if (words[3] == "worker") return TableSide::worker;
  return invalid_input(fmt::format("TABLE: expected scheduler or worker, found \"{}\"", words[3]));
}

// The block is that of the named table, or else of the table that the block table panel shows.
Status select_cell(Workbench& workbench, const std::string& argument) {
  const auto all = words_of(argument);
  const bool names_table = all.ok() && all.value().size() == 4;
  const auto words =
      read_words(argument, names_table ? "REQUEST GROUP COLUMN TABLE" : "REQUEST GROUP COLUMN");
  if (!words.ok()) return words.error();
  const auto request = read_request(words.value()[0], *workbench.run());
  if (!request.ok()) return request.error();
  const auto group = read_number(words.value()[1], {"GROUP", 0, num_groups(workbench) - 1});
  if (!group.ok()) return group.error();
  const auto column = read_number(words.value()[2], {"COLUMN", 0, 1 << 24});
  if (!column.ok()) return column.error();
  const auto side = read_table(words.value(), workbench.options().block_tables.side);
  if (!side.ok()) return side.error();
  Selection cell{.request = request.value(),
                 .group = static_cast<std::int32_t>(group.value()),
                 .column = static_cast<std::int32_t>(column.value()),
                 .request_name = words.value()[0],
                 .is_cell = true,
                 .side = side.value()};
  cell.block = block_of_cell(*workbench.run(), cell);
  workbench.select(std::move(cell));
  return Ok{};
}

Status select_finding(Workbench& workbench, const std::string& argument) {
  const auto count = static_cast<std::int64_t>(workbench.run()->findings().size());
  const auto number = read_number(argument, {"NUMBER", 1, count});
  if (!number.ok()) return number.error();
  workbench.select_finding(static_cast<std::size_t>(number.value() - 1));
  return Ok{};
}

// Finds the cause of the finding that was gone to last, else of the first.
Status find_cause(Workbench& workbench, const std::string&) {
  const auto chosen = std::max<std::ptrdiff_t>(workbench.selection().finding, 0);
  const auto first = workbench.find_cause_of(static_cast<std::size_t>(chosen));
  if (!first.ok()) return first.error();
  const ShownFinding& shown = workbench.run()->findings()[first.value()];
  const std::string_view cause = workbench.cause_of(shown);
  workbench.say(
      NoticeKind::info,
      fmt::format("{} in step {}: {}", rule_info(shown.finding.rule).slug, shown.finding.step,
                  cause.empty() ? "no known bug and no single policy was found behind it" : cause));
  return Ok{};
}

Status select_nothing(Workbench& workbench, const std::string&) {
  workbench.select({});
  return Ok{};
}

constexpr CommandRow kSelectCommands[] = {
    {"select.request", "Select", "Select a request", "", "REQUEST", kNeedsRun, select_request},
    {"select.group", "Select", "Select a KV-cache group", "", "GROUP", kNeedsRun, select_group},
    {"select.block", "Select", "Select a block", "B", "BLOCK", kNeedsRun, select_block},
    {"select.cell", "Select", "Select a cell of a block table", "", "REQUEST GROUP COLUMN [TABLE]",
     CommandNeeds::step, select_cell},
    {"select.finding", "Select", "Select what a finding is about", "", "NUMBER",
     CommandNeeds::finding, select_finding},
    {"select.cause", "Select", "Find the known bug behind the finding", "", "",
     CommandNeeds::finding, find_cause},
    {"select.nothing", "Select", "Select nothing", "Escape", "", kNeedsRun, select_nothing},
};

}  // namespace

std::span<const CommandRow> bookmark_commands() { return kBookmarkCommands; }

std::span<const CommandRow> select_commands() { return kSelectCommands; }

}  // namespace hybridscope
