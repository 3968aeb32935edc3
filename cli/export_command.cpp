#include "cli/commands.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/common_options.h"
#include "cli/process.h"
#include "sessions/export/exported_run.h"
#include "sessions/export/markdown_report.h"
#include "sessions/export/python_run.h"
#include "sessions/export/runner_test_text.h"
#include "sessions/export/step_actions.h"
#include "sessions/job/right_command.h"
#include "sessions/job/run_options.h"
#include "sessions/job/step_files.h"
#include "sessions/record/step_record.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/text/json_value.h"
#include "sessions/text/output_file.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {
namespace {

struct ExportCommandOptions {
  std::string scenario;
  std::string form;
  std::vector<std::string> requests;  // empty: all
  std::string output = "-";
  SettingsOptions settings;
  CheckScope check = CheckScope::step;
  bool json = false;
};

// The given requests, or all that ran. Error: a request that the scenario does not have, or that
// never ran.
Result<std::vector<std::string>> wanted_requests(const ExportCommandOptions& options,
                                                 const ExportedRun& run) {
  std::vector<std::string> ran;
  for (const ExportedRequest& request : run.requests) ran.push_back(request.id);
  for (const std::string& id : options.requests) {
    if (std::ranges::find(ran, id) != ran.end()) continue;
    const std::vector<std::string_view> known(ran.begin(), ran.end());
    std::string names;
    for (const std::string& name : ran)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", one_line(name));
    return invalid_input(fmt::format("no request {} ran{} (those that did: {})", quoted_text(id),
                                     nearest_key_hint(id, known), names));
  }
  return options.requests.empty() ? ran : options.requests;
}

std::string reproduce_words(const ExportCommandOptions& options, const ExportedRun& run) {
  std::string words = "hybridscope run " + shell_word(options.scenario);
  for (const std::string& word : options.settings.words()) words += " " + shell_word(word);
  if (options.check == CheckScope::all) words += " --check all";
  if (run.error) words += fmt::format(" --explain {}", run.error->finding.step);
  return words;
}

Result<std::string> export_text(const ExportCommandOptions& options, const ExportedRun& run,
                                const std::vector<std::string>& requests) {
  if (options.form == "markdown") return markdown_report(run, reproduce_words(options, run));
  if (options.form == "pytest") return pytest_text(run);
  if (options.form == "runner-test") return runner_test_text(run);
  if (!options.json) return step_actions_text(run, requests);
  return step_actions_json(run, requests)
             .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

int export_command(const ExportCommandOptions& options) {
  const bool actions = options.form == "step-actions";
  if (options.json && !actions)
    return report_usage(
        "export",
        fmt::format("--json is a form of step-actions, {} has one form only", options.form));
  if (!options.requests.empty() && !actions)
    return report_usage(
        "export",
        fmt::format("--request is for step-actions, {} covers all requests", options.form));
  if (const Status apart = check_files({.inputs = {{"the scenario", options.scenario}},
                                        .outputs = {{"--output", options.output}}});
      !apart.ok())
    return report_usage("export", apart.error().message);
  if (const Status settings = check_given_settings(options.settings, options.scenario);
      !settings.ok())
    return report_usage("export", settings.error().message);
  auto scenario = read_scenario_file(options.scenario);
  if (!scenario.ok())
    return report_error("export", name_right_command("export", options.scenario, scenario.error()));
  auto settings = options.settings.apply(scenario.value().settings);
  if (!settings.ok()) return report_error("export", settings.error());
  scenario.value().settings = std::move(settings).value();
  const auto run = make_exported_run(scenario.value(), options.scenario, options.check);
  if (!run.ok()) return report_error("export", run.error());
  const auto requests = wanted_requests(options, run.value());
  if (!requests.ok()) return report_usage("export", requests.error().message);
  const auto text = export_text(options, run.value(), requests.value());
  if (!text.ok()) return report_usage("export", text.error().message);
  if (options.output == "-") {
    fmt::print("{}", text.value());
    return kExitFine;
  }
  ask_for_interrupts();  // the file is written whole or not at all
  if (Status written = write_output_file(options.output, text.value()); !written.ok())
    return report_error("export", written.error());
  return kExitFine;
}

}  // namespace

std::function<int()> add_export_command(CLI::App& command) {
  const auto options = std::make_shared<ExportCommandOptions>();
  command.footer(
      "Examples:\n"
      "  hybridscope export scenarios/align_boundary_by_decode.json --as step-actions\n"
      "  hybridscope export scenario.json --as step-actions --request A --json\n"
      "  hybridscope export scenario.json --as pytest --no-async-scheduling -o test_run.py\n"
      "  hybridscope export scenario.json --as runner-test --engine vllm-0.33.0 -o test_run.py\n"
      "  hybridscope export scenario.json --as markdown --engine reference -o issue.md\n"
      "\n"
      "The forms are described in docs/debug.md. Exit codes: 0 written, even if the run has\n"
      "findings, 2 usage, 3 unreadable or invalid input, 4 environment.");
  command.add_option("scenario", options->scenario, "scenario file (docs/scenario-format.md)")
      ->required()
      ->type_name("SCENARIO.json");
  command
      .add_option("--as", options->form,
                  "step-actions: the table of vLLM's mamba prefix-cache test; pytest: a test of "
                  "vLLM's KV-cache manager; runner-test: one of its V1 runner on the CPU; "
                  "markdown: a report for an issue")
      ->required()
      ->check(CLI::IsMember({"step-actions", "pytest", "runner-test", "markdown"}))
      ->type_name("FORM");
  command
      .add_option("--request", options->requests,
                  "step-actions: only this request, may be repeated (default: all)")
      ->allow_extra_args(false)
      ->type_name("ID");
  command.add_flag("--json", options->json, "step-actions: as one JSON object");
  command.add_option("-o,--output", options->output, "file to write (default: standard output)")
      ->type_name("FILE|-");
  add_check_option(command, options->check);
  add_settings_options(command, options->settings);
  return [options] { return export_command(*options); };
}

}  // namespace hybridscope
