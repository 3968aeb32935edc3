// Commands that open, save and compare runs.

#include <fmt/core.h>

#include <filesystem>
#include <utility>

#include "gui/model/command_table.h"
#include "gui/model/file_job.h"
#include "gui/model/live_run.h"
#include "gui/model/open_run.h"
#include "gui/model/shown_plan.h"
#include "gui/model/workbench.h"
#include "sessions/scenario/scenario.h"
#include "storage/session_file.h"

namespace hybridscope {
namespace {

// What to say about an opened run besides its title.
std::string opened_words(const ShownRun& run, const std::string& argument,
                         const std::vector<SessionChoice>& sessions) {
  if (!argument.ends_with(".jsonl") || run.plan() == nullptr) return other_sessions_words(sessions);
  return fmt::format(" as traffic for {}; hybridscope gui --traffic FILE takes other settings",
                     run.plan()->setup.layout.model.name);
}

// An open run stays open.
Status open_plan_results(Workbench& workbench, const std::string& file) {
  auto plan = ShownPlan::open(file);
  if (!plan.ok()) return plan.error();
  workbench.note_read(opened_file(file));
  workbench.show_plan_results(std::move(plan).value());
  workbench.memory().add_recent_file(file);
  workbench.list_recent();
  workbench.say(NoticeKind::info, "opened " + std::filesystem::path(file).filename().string());
  return Ok{};
}

// If the new one cannot be opened, the old one stays open.
Status open(Workbench& workbench, const std::string& argument) {
  if (is_plan_file(argument)) return open_plan_results(workbench, argument);
  auto sessions = session_choices(argument);
  if (sessions.size() > 1 && workbench.asks()) {
    workbench.view().close_dialog();
    workbench.ask_for_session(std::move(sessions));
    return Ok{};
  }
  auto run = open_run(argument);
  if (!run.ok()) return run.error();
  const Result<bool> moved = run.value()->forward();
  if (!moved.ok()) return moved.error();
  workbench.note_read(opened_file(argument));
  workbench.open(std::move(run).value());
  workbench.memory().add_recent_file(argument);
  workbench.list_recent();
  std::string words =
      "opened " + workbench.run()->title() + opened_words(*workbench.run(), argument, sessions);
  if (moved.value())
    if (const auto stop = workbench.breakpoints().check(workbench.run()->view()))
      words += fmt::format("; step {}: {}", workbench.run()->step(), stop->hit.words);
  workbench.say(NoticeKind::info, std::move(words));
  return Ok{};
}

// "runs" is runs.db, "runs:one" the session "one" in it.
std::string session_place(const std::string& argument) {
  if (is_session_file_name(parse_session_place(argument).file)) return argument;
  const std::size_t colon = argument.rfind(':');
  if (colon == std::string::npos || argument.find('/', colon) != std::string::npos)
    return argument + ".db";
  return argument.substr(0, colon) + ".db" + argument.substr(colon);
}

Status check_no_job(const Workbench& workbench) {
  if (workbench.job() == nullptr) return Ok{};
  return invalid_input(fmt::format("{} is being written: wait for its end, or stop it with Escape",
                                   workbench.job()->path()));
}

Status save(Workbench& workbench, const std::string& argument) {
  if (Status free = check_no_job(workbench); !free.ok()) return free;
  const std::string place = session_place(argument);
  if (Status apart = workbench.check_output(run_output(place)); !apart.ok()) return apart;
  if (Status begun = workbench.write_file(
          begin_session_file(*workbench.run(), {place, workbench.program()}), "saved as " + place);
      !begun.ok())
    return begun;
  workbench.memory().add_recent_file(place);
  workbench.note_saving();
  return workbench.is_waiting() && workbench.job() == nullptr ? workbench.go_on() : Status(Ok{});
}

Status discard_edits(Workbench& workbench, const std::string&) { return workbench.go_on(); }

Status export_html(Workbench& workbench, const std::string& argument) {
  if (Status free = check_no_job(workbench); !free.ok()) return free;
  if (Status apart = workbench.check_output(run_output(argument)); !apart.ok()) return apart;
  return workbench.write_file(begin_report_file(*workbench.run(), {argument, workbench.program()}),
                              "written: " + argument);
}

Status stop_writing(Workbench& workbench, const std::string&) {
  workbench.cancel_job();
  return Ok{};
}

// The run first, which leaves the plan that it came from.
Status close(Workbench& workbench, const std::string&) {
  if (workbench.run() == nullptr && workbench.plan_results() != nullptr)
    workbench.close_plan_results();
  else
    workbench.close();
  return Ok{};
}

Status quit(Workbench& workbench, const std::string&) {
  if (Status free = check_no_job(workbench); !free.ok()) return free;
  workbench.quit();
  return Ok{};
}

constexpr CommandRow kFileCommands[] = {
    {"file.open", "File", "Open a scenario, session, trace, traffic or plan", "Ctrl+O", "FILE",
     CommandNeeds::nothing, open},
    {"file.save_session", "File", "Save as a session", "Ctrl+S", "FILE.db[:NAME]",
     CommandNeeds::step, save},
    {"file.export_html", "File", "Export an HTML report", "", "FILE.html", CommandNeeds::step,
     export_html},
    {"panel.export_png", "File", "Export a panel as a picture", "", "FILE.png [PANEL]",
     CommandNeeds::opened, order_panel_picture, suggested_picture},
    {"file.discard_edits", "", "Go on without saving the edits", "", "", CommandNeeds::unsaved,
     discard_edits},
    {"file.stop_writing", "File", "Stop writing the file", "", "", CommandNeeds::job, stop_writing},
    {"file.close", "File", "Close", "Ctrl+W", "", CommandNeeds::opened, close},
    {"file.quit", "File", "Quit", "Ctrl+Q", "", CommandNeeds::nothing, quit},
};

}  // namespace

std::span<const CommandRow> file_commands() { return kFileCommands; }

// Commands that compare the open run with another run.

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
