// Commands on the results of `hybridscope plan`.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "gui/model/command_arguments.h"
#include "gui/model/command_table.h"
#include "gui/model/plan_model.h"
#include "gui/model/shown_plan.h"
#include "gui/model/workbench.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope {
namespace {

constexpr std::string_view kWorst = "worst";

Status select_combination(Workbench& workbench, const std::string& name) {
  return workbench.plan_results()->select(name);
}

Status prefer_goals(Workbench& workbench, const std::string& goals) {
  return workbench.plan_results()->prefer(goals);
}
std::string suggested_goals(const Workbench& workbench) {
  return workbench.plan_results() == nullptr ? "" : workbench.plan_results()->goals();
}

// Sorting by the same column again reverses the order.
Status sort_combinations(Workbench& workbench, const std::string& column) {
  const auto names = plan_sort_names(*workbench.plan_results());
  if (std::ranges::find(names, column) == names.end())
    return invalid_input(
        fmt::format("expected one of {}, found \"{}\"", fmt::join(names, ", "), column));
  PlanOptions& options = workbench.options().plan;
  options.descending = options.sort == column && !options.descending;
  options.sort = column;
  return Ok{};
}

std::int64_t worst_step(const ShownPlan& plan) {
  const auto selected = plan.selected();
  return selected ? plan.view().results[*selected].figures.worst_step : 0;
}

Status run_combination(Workbench& workbench, const std::string& argument) {
  ShownPlan& plan = *workbench.plan_results();
  const auto step = argument == kWorst ? Result<std::int64_t>(worst_step(plan))
                                       : read_number(argument, {"STEP", 1, kMaxStep});
  if (!step.ok()) return step.error();
  auto opened = plan.run_selected();
  if (!opened.ok()) return opened.error();
  if (const auto moved = opened.value()->forward(); !moved.ok()) return moved.error();
  workbench.open(std::move(opened).value());
  if (step.value() > 1) workbench.control().go(step.value(), false);
  workbench.say(NoticeKind::info, fmt::format("opened {}", workbench.run()->title()));
  return Ok{};
}
std::string suggested_step(const Workbench&) { return std::string(kWorst); }

Status read_traffic(Workbench& workbench, const std::string& place) {
  if (Status read = workbench.plan_results()->read_traffic_from(place); !read.ok()) return read;
  workbench.say(NoticeKind::info, "the plan's traffic is read from " + place);
  return Ok{};
}

// What a running plan has added to its file.
Status reload_results(Workbench& workbench, const std::string&) {
  ShownPlan& before = *workbench.plan_results();
  auto again = ShownPlan::open(before.file());
  if (!again.ok()) return again.error();
  if (Status kept = again.value()->prefer(before.goals()); !kept.ok()) return kept;
  if (const auto selected = before.selected())
    (void)again.value()->select(before.view().results[*selected].name);
  again.value()->take_traffic_of(before);
  workbench.show_plan_results(std::move(again).value());
  return Ok{};
}

Status close_results(Workbench& workbench, const std::string&) {
  workbench.close_plan_results();
  return Ok{};
}

constexpr CommandNeeds kResults = CommandNeeds::plan_results;

constexpr CommandRow kPlanCommands[] = {
    {"plan.run", "Compare", "Plan: open the selected combination at a step", "", "STEP|worst",
     kResults, run_combination, suggested_step},
    {"plan.prefer", "Compare", "Plan: prefer other goals", "", "GOAL,...", kResults, prefer_goals,
     suggested_goals},
    {"plan.sort", "Compare", "Plan: sort combinations by", "", "COLUMN", kResults,
     sort_combinations},
    {"plan.select", "Compare", "Plan: select a combination", "", "NAME", kResults,
     select_combination},
    {"plan.traffic", "Compare", "Plan: say where its traffic is", "", "FILE", kResults,
     read_traffic},
    {"plan.reload", "Compare", "Plan: read the results again", "", "", kResults, reload_results},
    {"plan.close", "Compare", "Plan: close it", "", "", kResults, close_results},
};

}  // namespace

std::span<const CommandRow> plan_commands() { return kPlanCommands; }

}  // namespace hybridscope
