// Commands that say what all panels look at.
#include <fmt/format.h>

#include <utility>

#include "gui/model/command_arguments.h"
#include "gui/model/command_table.h"
#include "gui/model/workbench.h"

namespace hybridscope {
namespace {

std::int32_t num_groups(const Workbench& workbench) {
  return static_cast<std::int32_t>(workbench.run()->config().kv_cache_config.groups.size());
}

// A request that one of two compared runs has is one that can be selected.
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
  workbench.select(with_request(workbench.selection, words.value()[0]));
  return Ok{};
}

Status select_group(Workbench& workbench, const std::string& argument) {
  const auto group = read_number(argument, {"GROUP", 0, num_groups(workbench) - 1});
  if (!group.ok()) return group.error();
  Selection chosen = workbench.selection;
  chosen.group = static_cast<std::int32_t>(group.value());
  workbench.select(std::move(chosen));
  return Ok{};
}

Status select_block(Workbench& workbench, const std::string& argument) {
  const std::int32_t num_blocks = workbench.run()->config().kv_cache_config.num_blocks;
  const auto block = read_number(argument, {"BLOCK", 0, num_blocks - 1});
  if (!block.ok()) return block.error();
  workbench.select(
      with_block(*workbench.run(), workbench.selection, static_cast<std::int32_t>(block.value())));
  return Ok{};
}

Result<TableSide> read_table(const std::vector<std::string>& words, TableSide shown) {
  if (words.size() < 4) return shown;
  if (words[3] == "scheduler") return TableSide::scheduler;
  if (words[3] == "worker") return TableSide::worker;
  return invalid_input(fmt::format("TABLE: expected scheduler or worker, found \"{}\"", words[3]));
}

// The block is that of the table which is named, or else of the one that the block-table panel
// shows.
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
  const auto side = read_table(words.value(), workbench.options.block_tables.side);
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
    {"select.nothing", "Select", "Select nothing", "Escape", "", kNeedsRun, select_nothing},
};

}  // namespace

std::span<const CommandRow> select_commands() { return kSelectCommands; }

}  // namespace hybridscope
