#include "cli/commands.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <utility>

#include "cli/common_options.h"
#include "cli/process.h"
#include "sessions/job/right_command.h"
#include "sessions/job/run_options.h"
#include "sessions/job/state_option.h"
#include "sessions/job/step_files.h"
#include "sessions/job/version.h"
#include "sessions/plan/plan_file.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/text/shown_text.h"
#include "sessions/traffic/load_traffic.h"
#include "storage/open_database.h"

namespace hybridscope {
namespace {

constexpr const char* kGuiExamples =
    "Examples:\n"
    "  hybridscope gui\n"
    "  hybridscope gui scenarios/align_boundary_by_accepted_drafts.json\n"
    "  hybridscope gui runs.db:before\n"
    "  hybridscope gui scenarios/async_worked_example.json --screenshot step3.png \\\n"
    "      --command \"run.go_to 3\" --command \"select.cell A 1 0\"\n"
    "  hybridscope gui runs.db:before --bench\n"
    "  hybridscope gui scenarios/plain_decode.json --weights scenarios/models/jargon-gdn\n"
    "  hybridscope gui plan.jsonl\n"
    "  hybridscope gui --attach unix:/run/engine.sock --record living.db\n"
    "  hybridscope gui --commands\n"
    "\n"
    "Inside, F1 finds every command and ? lists the keys. A script is a file with one command per\n"
    "line. Screenshots need no display.\n"
    "Exit codes: 0 fine, 1 a step that engine.wait waits for does not come, 2 usage,\n"
    "3 unreadable or invalid input, 4 environment: no display, no OpenGL, built without the "
    "window,\n"
    "a picture that cannot be written, a full disk.";

// The alternative if there is no display.
constexpr const char* kHeadless =
    "Without a display, these show the same runs:\n"
    "  hybridscope run SCENARIO.json --explain STEP\n"
    "  hybridscope sessions show FILE.db --explain STEP\n"
    "  hybridscope sessions export FILE.db --html report.html\n"
    "  hybridscope gui SCENARIO.json --screenshot FILE.png\n";

Result<std::pair<std::int32_t, std::int32_t>> read_size(const std::string& text) {
  std::int32_t width = 0;
  std::int32_t height = 0;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, width);
  const bool parts = first.ec == std::errc{} && first.ptr != end && *first.ptr == 'x';
  const auto second = parts ? std::from_chars(first.ptr + 1, end, height) : first;
  constexpr std::int32_t kLeast = 320;
  constexpr std::int32_t kMost = 8192;
  if (!parts || second.ec != std::errc{} || second.ptr != end || width < kLeast ||
      height < kLeast || width > kMost || height > kMost)
    return invalid_input(fmt::format(
        "--size: expected WIDTHxHEIGHT, each from {} to {}, found \"{}\"", kLeast, kMost, text));
  return std::pair{width, height};
}

bool is_session(const std::string& file) {
  return file.ends_with(".db") || file.find(".db:") != std::string::npos;
}

// The window opens files by name; options make a plan here.
bool has_settings(const GuiOptions& options) {
  return !options.settings.words().empty() || !options.model.empty();
}

// Options that do not go together.
Status check_options(const GuiOptions& options) {
  if (has_settings(options) && is_plan_file(options.scenario))
    return invalid_input(fmt::format(
        "{}: results of a plan have their model and settings (`hybridscope plan` runs other ones)",
        options.scenario));
  if (has_settings(options) && is_session(options.scenario))
    return invalid_input(fmt::format(
        "{}: a session has its settings (--model and engine settings go with a scenario or "
        "--traffic; `hybridscope sessions fork` runs a session again with other ones)",
        options.scenario));
  if (options.limit > 0 && options.traffic.empty())
    return invalid_input(
        "--limit: there is no --traffic of which it could take the first requests");
  if (!options.attach.empty() && has_settings(options))
    return invalid_input(
        "--attach: the trace has the engine's settings (--model and engine "
        "settings go with a scenario or --traffic)");
  if (options.state.is_numeric() && (is_session(options.scenario) || !options.attach.empty()))
    return invalid_input(
        "--weights: a language model runs on the decisions of our engine only (a session has what "
        "was said when it was recorded; `hybridscope judge TRACE --weights DIR` runs one on a "
        "trace)");
  if (Status fit = check_language_option(options.state); !fit.ok()) return fit;
  return check_given_settings(options.settings, options.scenario, options.model);
}

CommandFiles files_of(const GuiOptions& options) {
  const bool is_socket = options.attach.starts_with("unix:");
  return {.inputs = {is_session(options.scenario) ? session_input(options.scenario)
                                                  : InputFile{"what is opened", options.scenario},
                     {"the traffic", options.traffic == kSyntheticTraffic ? "" : options.traffic},
                     {"the trace", is_socket ? "" : options.attach},
                     {"the script", options.script},
                     {"the model's file", options.model},
                     {"of the language model", options.state.weights}},
          .outputs = {{"--screenshot", options.screenshot}, recording(options.files.record.place)}};
}

Status fill_run(const GuiOptions& options, GuiStart& start) {
  if (options.traffic.empty() && !has_settings(options)) {
    start.open = options.scenario;
    start.attach = options.attach;
    start.record = options.files.record.place;
    start.record_level = record_level_name(options.files.record.level);
    return Ok{};
  }
  auto plan = make_run_plan(options);
  if (!plan.ok()) return plan.error();
  start.plan = std::move(plan).value();
  for (const std::string& file : {options.scenario, options.traffic, options.model})
    if (!file.empty()) start.plan_files.push_back(file);
  return Ok{};
}

int report_failure(const Error& error) {
  if (error.kind == ErrorKind::device) {
    report_lines("gui", fmt::format("{}\n{}", one_line(error.message), kHeadless));
    return kExitEnvironment;
  }
  return report_error("gui", error);
}

// Whether a command of --command, not the file, is what is wrong. The errors of commands begin with
// the command, or with "--command" where there is none of that name.
bool is_misused_command(const GuiOptions& options, const Error& error) {
  const auto begins = [&](std::string_view words) {
    return !words.empty() && error.message.starts_with(words);
  };
  return error.kind == ErrorKind::invalid_input &&
         (begins("--command:") || std::ranges::any_of(options.commands, begins));
}

// A step of the engine that a command waited for did not come.
bool is_unmet_wait(const Error& error) {
  return error.kind == ErrorKind::not_found && error.message.starts_with("engine.wait ");
}

}  // namespace

void add_gui_options(CLI::App& command, GuiOptions& options) {
  command.footer(kGuiExamples);
  auto* file = command.add_option("file", options.scenario, "what to open")
                   ->type_name("SCENARIO.json|FILE.db[:NAME]|TRACE.jsonl|PLAN.jsonl");
  command.add_option("--traffic", options.traffic, kTrafficHelp)
      ->type_name("FILE|synthetic")
      ->excludes(file);
  command
      .add_option("--attach", options.attach,
                  "show a living engine: follow the trace that it writes to a file or a socket "
                  "(docs/trace-format.md)")
      ->type_name("FILE|unix:PATH")
      ->excludes(file)
      ->excludes("--traffic");
  add_record_options(command, options.files.record);
  // What comes is kept in a temporary file otherwise, which has a level too.
  command.get_option("--record-level")->remove_needs(command.get_option("--record"));
  command.get_option("--record")->needs("--attach");
  command.add_option("--model", options.model, "preset or config.json")->type_name("NAME|FILE");
  command.add_option("--limit", options.limit, "take only the first N requests of the traffic")
      ->check(CLI::Range(std::int64_t{1}, INT64_MAX, "a number from 1 on"))
      ->type_name("N");
  add_traffic_options(command, options.traffic_options);
  add_language_options(command, options.state);
  auto* screenshot =
      command.add_option("--screenshot", options.screenshot, "draw, write a picture, and end")
          ->type_name("FILE.png");
  command.add_option("--script", options.script, "file of commands to carry out first")
      ->type_name("FILE");
  command
      .add_option("--command", options.commands, "a command to carry out first; may be repeated")
      ->type_name("COMMAND");
  command
      .add_flag("--commands", options.lists_commands,
                "print the ids of all commands and panels, and end")
      ->excludes(file)
      ->excludes(screenshot);
  command.add_option("--size", options.size, "window size in pixels")->type_name("WIDTHxHEIGHT");
  command.add_option("--theme", options.theme)
      ->check(CLI::IsMember({"dark", "light", "high_contrast"}))
      ->type_name("NAME");
  command.add_option("--scale", options.scale, "scale of everything")->type_name("PERCENT");
  command
      .add_flag("--bench", options.bench,
                "measure frames and steps of what was opened, print the figures, and end")
      ->excludes(screenshot);
  command.add_flag("--window", options.window,
                   "with --screenshot or --bench: in a real window, not in memory");
  add_settings_options(command, options.settings);
}

int gui_command(const GuiOptions& options, const Backends& backends) {
  if (backends.run_gui == nullptr) {
    report_lines("gui",
                 fmt::format("built without the window (ImGui, GLFW, OpenGL, EGL, libpng and "
                             "FreeType are needed: scripts/setup)\n{}",
                             kHeadless));
    return kExitEnvironment;
  }
  GuiStart start;
  if (!options.screenshot.empty() && !options.screenshot.ends_with(".png")) {
    return report_usage(
        "gui", fmt::format("--screenshot: expected FILE.png, found \"{}\"", options.screenshot));
  }
  if (!options.size.empty()) {
    const auto size = read_size(options.size);
    if (!size.ok()) return report_usage("gui", size.error().message);
    start.width = size.value().first;
    start.height = size.value().second;
  }
  start.program = std::string("hybridscope ") + kVersion;
  start.screenshot = options.screenshot;
  start.weights = options.state.weights;
  if (options.state.form) start.form = numeric_form_name(*options.state.form);
  start.script = options.script;
  start.bench = options.bench;
  start.lists_commands = options.lists_commands;
  start.offscreen = (options.bench || !options.screenshot.empty()) && !options.window;
  if (!options.theme.empty()) start.commands.push_back("view.theme " + options.theme);
  if (!options.scale.empty()) start.commands.push_back("view.scale " + options.scale);
  start.commands.insert(start.commands.end(), options.commands.begin(), options.commands.end());
  if (Status fit = check_options(options); !fit.ok())
    return report_usage("gui", fit.error().message);
  if (const Status apart = check_files(files_of(options)); !apart.ok())
    return report_usage("gui", apart.error().message);
  auto machine = language_machine(options.state, backends);
  if (!machine.ok()) return report_error("gui", machine.error());
  start.make_machine = std::move(machine).value();
  if (Status filled = fill_run(options, start); !filled.ok()) return report_failure(filled.error());
  if (!start.record.empty()) {
    const auto found = look_at_file(parse_session_place(start.record).file, FileAccess::create);
    if (!found.ok()) return report_error("gui", found.error(), ErrorKind::invalid_input);
  }
  const bool stays = options.screenshot.empty() && !options.bench && !options.lists_commands;
  // What a temporary folder holds for them goes with it.
  if (stays || !options.attach.empty()) {
    ask_for_interrupts();
    start.is_interrupted = was_interrupted;
  }
  const Status done = backends.run_gui(std::move(start));
  if (done.ok()) return kExitFine;
  if (is_unmet_wait(done.error())) {
    report_message("gui", done.error().message);
    return kExitFindings;
  }
  if (is_misused_command(options, done.error())) return report_usage("gui", done.error().message);
  return report_failure(name_right_command("gui", options.scenario, done.error()));
}

}  // namespace hybridscope
