#include "cli/diff_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "cli/diff_comparison.h"
#include "cli/diff_files.h"
#include "cli/diff_report.h"
#include "cli/exit_codes.h"
#include "cli/interrupt.h"
#include "cli/output_targets.h"
#include "cli/report_error.h"
#include "cli/run_words.h"
#include "cli/settings_options.h"
#include "cli/version.h"
#include "sessions/record/live_source.h"
#include "sessions/report/diff_page.h"
#include "sessions/run/run_plan.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/scenario/setting_names.h"
#include "sessions/scenario/settings_table.h"
#include "sessions/text/html_text.h"
#include "storage/session_file.h"

namespace hybridscope {

namespace {

struct SideSetting {
  const Setting* setting = nullptr;
  std::string value;
};

// "runner=v1", "mode=none", "policies/row_order=query_len"; also "row_order=...".
Result<SideSetting> parse_setting(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return invalid_input(fmt::format("\"{}\" is not KEY=VALUE (runner=v1)", text));
  const auto found = setting_called(text.substr(0, equals));
  if (!found.ok()) return found.error();
  return SideSetting{found.value(), text.substr(equals + 1)};
}

std::vector<std::string> given_settings(const DiffOptions& options, int side) {
  std::vector<std::string> given = side == 0 ? options.settings_a : options.settings_b;
  if (!options.engines.empty())
    given.insert(given.begin(), "engine=" + options.engines[static_cast<std::size_t>(side)]);
  return given;
}

Result<std::vector<SideSetting>> set_all(const std::vector<std::string>& given,
                                         EngineSettings& settings) {
  std::vector<SideSetting> all;
  for (const std::string& text : given) {
    auto setting = parse_setting(text);
    if (!setting.ok()) return setting.error();
    all.push_back(std::move(setting).value());
    if (Status set = set_setting_text(settings, *all.back().setting, all.back().value); !set.ok())
      return set.error();
  }
  return all;
}

std::string run_command_of(const DiffOptions& options, const std::vector<SideSetting>& settings) {
  std::string text = "hybridscope run " + shell_quoted(options.scenario);
  for (const SideSetting& one : settings) {
    const std::string option = main_option_of(*one.setting);
    if (one.setting->kind == SettingKind::boolean)
      text += one.value == "true" || one.value == "1" ? " " + option : " --no-" + option.substr(2);
    else
      text += fmt::format(" {} {}", option, shell_quoted(one.value));
  }
  return text + " --explain {}";
}

Status check_diff_page(const DiffOptions& options) {
  CommandFiles files{.inputs = {{"the scenario", options.scenario}},
                     .outputs = {document("--json", options.json), {"--html", options.html}}};
  for (const std::string& session : options.sessions)
    files.inputs.push_back(session_input(session));
  return check_files(files);
}

Status write_diff_page(const DiffReport& report, OutputFile& page) {
  auto json = diff_to_json(report);
  json["program"] = fmt::format("hybridscope {}", kVersion);
  if (Status written = page.write(fill_diff_page(script_safe_json(json))); !written.ok())
    return written;
  return page.finish();
}

}  // namespace

std::string shell_quoted(std::string_view text) {
  std::string quoted;
  for (const char c : shell_word(text)) quoted += std::string(c == '{' || c == '}' ? 2 : 1, c);
  return quoted;
}

Status check_live_settings(const DiffOptions& options) {
  for (const int side : {0, 1}) {
    EngineSettings settings;
    const std::vector<std::string> given = given_settings(options, side);
    if (auto set = set_all(given, settings); !set.ok()) return set.error();
    if (given.empty()) continue;
    const auto scenario = read_scenario_file(options.scenario);
    if (!scenario.ok()) continue;
    settings = scenario.value().settings;
    if (auto set = set_all(given, settings); !set.ok()) return set.error();
    if (Status fit = check_scenario_settings(scenario.value(), settings, options.scenario);
        !fit.ok())
      return fit;
  }
  return Ok{};
}

Result<DiffSide> open_live(const DiffOptions& options, int side) {
  auto scenario = read_scenario_file(options.scenario);
  if (!scenario.ok()) return scenario.error();
  const std::vector<std::string> given = given_settings(options, side);
  auto settings = set_all(given, scenario.value().settings);
  if (!settings.ok()) return settings.error();
  auto plan = plan_scenario(scenario.value(), options.scenario);
  if (!plan.ok()) return plan.error();
  std::string title = options.scenario;
  for (const std::string& text : given) title += " " + text;
  auto source = LiveSource::create(std::move(plan).value(), options.level, std::move(title));
  if (!source.ok()) return source.error();
  return DiffSide{.source = std::move(source).value(),
                  .look_further = run_command_of(options, settings.value())};
}

int diff_command(const DiffOptions& options) {
  if (const Status apart = check_diff_page(options); !apart.ok())
    return report_usage("diff", apart.error().message);
  ask_for_interrupts();
  // What cannot be opened is reported by the comparison.
  if (const auto files = compares_files(options); files.ok() && files.value())
    return diff_files_command(options);
  auto page = open_output(options.html);
  if (!page.ok()) return report_error("diff", page.error());
  int code = kExitFine;
  const auto failure = compare_sides(options, [&](const DiffReport& report) {
    if (page.value())
      if (const Status written = write_diff_page(report, *page.value()); !written.ok()) {
        code = report_error("diff", written.error());
        return;
      }
    if (options.json)
      fmt::print("{}\n", diff_to_json(report).dump(2, ' ', false,
                                                   nlohmann::json::error_handler_t::replace));
    else
      fmt::print(text_stream({{"--html", options.html}}), "{}", format_diff(report));
    code = report.differs() ? kExitFindings : kExitFine;
  });
  if (!failure) return code;
  if (failure->by_usage) return report_usage("diff", failure->error.message);
  const int by_kind = report_error("diff", failure->error);
  return was_interrupted() ? static_cast<int>(kExitInterrupted) : by_kind;
}

}  // namespace hybridscope
