#include "sessions/job/diff_sides.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "sessions/job/settings_options.h"
#include "sessions/record/live_source.h"
#include "sessions/run/run_plan.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/scenario/setting_names.h"
#include "sessions/scenario/settings_table.h"
#include "sessions/text/shell_word.h"

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

}  // namespace hybridscope
