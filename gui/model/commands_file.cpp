// Commands that open and save runs.
#include <fmt/core.h>

#include <filesystem>
#include <utility>

#include "gui/model/command_table.h"
#include "gui/model/file_job.h"
#include "gui/model/open_run.h"
#include "gui/model/panel_export.h"
#include "gui/model/shown_plan.h"
#include "gui/model/workbench.h"
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

}  // namespace hybridscope
