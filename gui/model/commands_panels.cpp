// Commands that change what single panels show.
#include <fmt/format.h>

#include "gui/model/command_arguments.h"
#include "gui/model/command_table.h"
#include "gui/model/requests_model.h"
#include "gui/model/workbench.h"

namespace hybridscope {
namespace {

// Whether the step has such an array is the panel's to say: another step may have it.
Status show_array(Workbench& workbench, const std::string& argument) {
  const auto words = read_words(argument, "GROUP ARRAY");
  if (!words.ok()) return words.error();
  const auto& groups = workbench.run()->config().kv_cache_config.groups;
  const auto group =
      read_number(words.value()[0], {"GROUP", -1, static_cast<std::int64_t>(groups.size()) - 1});
  if (!group.ok()) return group.error();
  workbench.options.metadata = {.group = static_cast<std::int32_t>(group.value()),
                                .array = words.value()[1]};
  return Ok{};
}

Status close_array(Workbench& workbench, const std::string&) {
  workbench.options.metadata = {};
  return Ok{};
}

// The same column again turns the order around.
Status sort_requests(Workbench& workbench, const std::string& argument) {
  for (std::size_t i = 0; i < kNumRequestColumns; ++i) {
    const auto column = static_cast<RequestColumn>(i);
    if (request_column_name(column) != argument) continue;
    RequestsOptions& options = workbench.options.requests;
    options.descending = options.sort == column && !options.descending;
    options.sort = column;
    return Ok{};
  }
  std::string names;
  for (std::size_t i = 0; i < kNumRequestColumns; ++i)
    names +=
        fmt::format("{}{}", i == 0 ? "" : ", ", request_column_name(static_cast<RequestColumn>(i)));
  return invalid_input(fmt::format("expected one of {}, found \"{}\"", names, argument));
}

Status timeline_steps(Workbench& workbench, const std::string& argument) {
  const auto steps = read_number(argument, {"STEPS", 5, kMostTimelineSteps});
  if (!steps.ok()) return steps.error();
  workbench.options.timeline.num_steps = static_cast<std::int32_t>(steps.value());
  return Ok{};
}

constexpr CommandRow kPanelsCommands[] = {
    {"metadata.array", "View", "Metadata: show an array as a whole", "", "GROUP ARRAY", kNeedsRun,
     show_array},
    {"metadata.close_array", "View", "Metadata: close the array", "", "", kNeedsRun, close_array},
    {"requests.sort", "View", "Requests: sort by", "", "COLUMN", kNeedsNothing, sort_requests},
    {"timeline.steps", "View", "Timeline: steps at once", "", "STEPS", kNeedsNothing,
     timeline_steps},
};

}  // namespace

std::span<const CommandRow> panel_commands() { return kPanelsCommands; }

}  // namespace hybridscope
