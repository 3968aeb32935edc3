// Commands that compare the open run with another run.
#include <fmt/core.h>

#include "gui/model/command_arguments.h"
#include "gui/model/command_table.h"
#include "gui/model/live_run.h"
#include "gui/model/open_run.h"
#include "gui/model/workbench.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope {
namespace {

Status open_other(Workbench& workbench, const std::string& argument) {
  auto other = open_run(argument);
  if (!other.ok()) return other.error();
  workbench.note_read(opened_file(argument));
  return workbench.compare_with(std::move(other).value());
}

// The bug on the left, its healthy run on the right, at the first step that differs, with the first
// request that differs selected.
Status open_bug(Workbench& workbench, const std::string& argument) {
  auto faulty = open_run(std::string(kBugPrefix) + argument);
  if (!faulty.ok()) return faulty.error();
  auto healthy = open_run(std::string(kHealthyPrefix) + argument);
  if (!healthy.ok()) return healthy.error();
  if (Status begun = faulty.value()->go_to(1); !begun.ok()) return begun;
  workbench.open(std::move(faulty).value());
  if (Status compared = workbench.compare_with(std::move(healthy).value()); !compared.ok())
    return compared;
  workbench.seek_first_difference(SoughtDifference::with_request);
  return Ok{};
}

// The run before the last edit.
Status before_edit(Workbench& workbench, const std::string&) {
  auto other = LiveRun::create(*workbench.plans().last_plan());
  if (!other.ok()) return other.error();
  return workbench.compare_with(std::move(other).value());
}

// Later edits change the run on the left; the one on the right stays as it is now.
Status fork_here(Workbench& workbench, const std::string&) {
  auto other = LiveRun::create(*workbench.run()->plan());
  if (!other.ok()) return other.error();
  if (Status compared = workbench.compare_with(std::move(other).value()); !compared.ok())
    return compared;
  workbench.say(NoticeKind::info,
                fmt::format("forked at step {}: edits change the left run, the right one stays",
                            workbench.run()->step()));
  return Ok{};
}

Status close_other(Workbench& workbench, const std::string&) {
  workbench.end_comparison();
  return Ok{};
}

const std::string& filter_of(const Workbench& workbench) {
  return workbench.options().differences.filter;
}

Status go_to(Workbench& workbench, const DifferingStep* found, std::string_view where) {
  if (found != nullptr) return workbench.show_difference(found->step);
  workbench.say(NoticeKind::info,
                fmt::format("no step {} this one differs{}{}", where,
                            filter_of(workbench).empty() ? "" : " in what the filter lists",
                            workbench.comparison()->complete() ? "" : ", as far as is known yet"));
  return Ok{};
}

std::int64_t here(const Workbench& workbench) {
  return workbench.comparison()->place(workbench.run()->step());
}

Status next_difference(Workbench& workbench, const std::string&) {
  return go_to(workbench, workbench.comparison()->after(here(workbench), filter_of(workbench)),
               "after");
}

Status previous_difference(Workbench& workbench, const std::string&) {
  return go_to(workbench, workbench.comparison()->before(here(workbench), filter_of(workbench)),
               "before");
}

Status filter(Workbench& workbench, const std::string& argument) {
  workbench.options().differences.filter = argument;
  return Ok{};
}

Status show_all(Workbench& workbench, const std::string&) {
  workbench.options().differences.filter.clear();
  return Ok{};
}

Status filter_bugs(Workbench& workbench, const std::string& argument) {
  workbench.options().known_bugs.filter = argument;
  return Ok{};
}

Status show_all_bugs(Workbench& workbench, const std::string&) {
  workbench.options().known_bugs.filter.clear();
  return Ok{};
}

Status go_to_difference(Workbench& workbench, const std::string& argument) {
  const auto step = read_number(argument, {"STEP", 1, kMaxStep});
  if (!step.ok()) return step.error();
  const DifferingStep* found = workbench.comparison()->after(step.value() - 1);
  if (found == nullptr || found->step != step.value())
    return invalid_input(fmt::format("step {} is not one of those that differ", step.value()));
  return workbench.show_difference(found->step);
}

Status first(Workbench& workbench, const std::string&) {
  workbench.seek_first_difference(SoughtDifference::any);
  return Ok{};
}

constexpr CommandNeeds kDiff = CommandNeeds::comparison;

constexpr CommandRow kDiffCommands[] = {
    {"edit.fork", "Edit", "Fork from here", "", "", CommandNeeds::plan, fork_here},
    {"bug.open", "Compare", "Known bug beside its healthy run", "", "ID", CommandNeeds::nothing,
     open_bug},
    {"bug.filter", "Compare", "List known bugs with", "", "TEXT", CommandNeeds::nothing,
     filter_bugs},
    {"bug.show_all", "Compare", "List all known bugs", "", "", CommandNeeds::nothing,
     show_all_bugs},
    {"diff.open", "Compare", "Compare with", "Ctrl+D", "FILE", CommandNeeds::step, open_other},
    {"diff.before_edit", "Compare", "Compare with the run before the last edit", "", "",
     CommandNeeds::undo, before_edit},
    {"diff.next", "Compare", "Next difference", "F8", "", kDiff, next_difference},
    {"diff.previous", "Compare", "Previous difference", "F7", "", kDiff, previous_difference},
    {"diff.first", "Compare", "First divergence", "Shift+F8", "", kDiff, first},
    {"diff.go_to", "Compare", "Go to a difference", "", "STEP", kDiff, go_to_difference},
    {"diff.filter", "Compare", "List and go to differences in", "", "TEXT", kDiff, filter},
    {"diff.show_all", "Compare", "List and go to all differences", "", "", kDiff, show_all},
    {"diff.close", "Compare", "End the comparison", "", "", kDiff, close_other},
};

}  // namespace

std::span<const CommandRow> diff_commands() { return kDiffCommands; }

}  // namespace hybridscope
