#include "sessions/job/run_options.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "sessions/job/step_files.h"
#include "sessions/run/run_plan.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/scenario/hf_config.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/scenario/settings.h"
#include "sessions/scenario/settings_json.h"
#include "sessions/scenario/settings_table.h"
#include "sessions/text/json_value.h"
#include "sessions/text/number_words.h"
#include "sessions/traffic/traffic.h"

namespace hybridscope {

Status load_baselines(KnownFindingsOption& option) {
  if (!option.write_baseline.empty()) option.collected = std::make_shared<FindingBaseline>();
  if (option.baseline.empty()) return Ok{};
  auto read = FindingBaseline::read(option.baseline);
  if (!read.ok()) return read.error();
  option.known = std::make_shared<FindingBaseline>(std::move(read).value());
  return Ok{};
}

std::string excused_words(const ExcusedFindings& excused) {
  return fmt::format("{} {} from {}", counted(excused.findings, "finding"),
                     excused.findings == 1 ? "is" : "are", excused.source);
}

namespace {

Result<RunPlan> plan_of_scenario(const RunOptions& options) {
  const auto scenario = read_scenario(options);
  if (!scenario.ok()) return scenario.error();
  return plan_scenario(scenario.value(), options.scenario);
}

}  // namespace

CommandFiles files_of(const RunOptions& options) {
  std::vector<OutputTarget> outputs = outputs_of(options.files);
  outputs.insert(outputs.begin() + 1,  // behind --trace
                 {"--write-baseline", options.known.write_baseline});
  return {.inputs = {{"the traffic", options.traffic == kSyntheticTraffic ? "" : options.traffic},
                     {"the model's file", options.model},
                     {"the baseline", options.known.baseline},
                     {"of the language model", options.state.weights},
                     {"the scenario", options.scenario_text.empty() ? options.scenario : ""}},
          .outputs = std::move(outputs)};
}

Result<Scenario> read_scenario(const RunOptions& options) {
  auto scenario = options.scenario_text.empty()
                      ? read_scenario_file(options.scenario)
                      : parse_scenario({.text = options.scenario_text, .file = options.scenario});
  if (!scenario.ok()) return scenario.error();
  if (!options.model.empty()) scenario.value().model = options.model;
  auto settings = options.settings.apply(scenario.value().settings);
  if (!settings.ok()) return settings.error();
  scenario.value().settings = std::move(settings).value();
  return scenario;
}

Result<RunPlan> make_run_plan(const RunOptions& options) {
  if (!options.scenario.empty()) return plan_of_scenario(options);
  auto settings = options.settings.apply({});
  if (!settings.ok()) return settings.error();
  TrafficOptions traffic_options = options.traffic_options;
  traffic_options.load.seed = static_cast<std::uint64_t>(settings.value().seed.value_or(0));
  auto traffic = load_traffic(options.traffic, traffic_options);
  if (!traffic.ok()) return traffic.error();
  return plan_traffic(
      std::move(traffic).value(),
      {.name = options.traffic == kSyntheticTraffic ? "synthetic traffic" : options.traffic,
       .model = options.model.empty() ? kDefaultTrafficModel : options.model,
       .settings = settings.value(),
       .limit = options.limit});
}

Result<std::string> engine_profile_called(const std::string& name) {
  if (!parse_engine_profile(name))
    return invalid_input(fmt::format("there is no profile {}{} ({})", quoted_text(name),
                                     nearest_profile_hint(name), engine_profile_names()));
  return canonical_profile_name(name);
}

Status SettingsOptions::give(std::string_view key, const std::string& value) {
  const auto setting = setting_called(key);
  if (!setting.ok()) return setting.error();
  values_[setting_path(*setting.value())] = value;
  return Ok{};
}

Status SettingsOptions::apply_speculative_config(EngineSettings& settings) const {
  if (speculative_config_.empty()) return Ok{};
  const auto config = nlohmann::json::parse(speculative_config_, nullptr, false);
  if (!config.is_object())
    return invalid_input("--speculative-config is not a JSON object: " + speculative_config_);
  std::string not_modelled;
  for (const auto& [key, value] : config.items()) {
    const Setting* setting = find_setting("speculative_config", key);
    if (const auto why = why_setting_not_modelled("speculative_config", key); !why.empty()) {
      not_modelled = fmt::format("--speculative-config: {} is not modelled: {}", key, why);
      continue;  // the method may be why
    }
    if (setting == nullptr) {
      const Setting* other = find_setting("", key);
      return invalid_input(fmt::format(
          "--speculative-config has an unknown key \"{}\"{} (known: method, "
          "num_speculative_tokens)",
          key, other == nullptr ? "" : ", which is the option " + main_option_of(*other)));
    }
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    if (Status set = set_setting_text(settings, *setting, text); !set.ok()) return set;
  }
  if (!not_modelled.empty()) return invalid_input(not_modelled);
  return Ok{};
}

Result<EngineSettings> SettingsOptions::apply(EngineSettings base) const {
  if (Status set = apply_speculative_config(base); !set.ok()) return set.error();
  for (const Setting& setting : settings_table()) {
    const auto given = values_.find(setting_path(setting));
    if (given == values_.end() || given->second.empty()) continue;
    if (Status set = set_setting_text(base, setting, given->second); !set.ok()) return set.error();
  }
  return base;
}

SettingsOptions SettingsOptions::only(const std::string& setting) const {
  SettingsOptions one;
  if (const auto given = values_.find(setting); given != values_.end()) one.values_.insert(*given);
  return one;
}

std::vector<std::string> SettingsOptions::words() const {
  std::vector<std::string> words;
  for (const Setting& setting : settings_table()) {
    const auto given = values_.find(setting_path(setting));
    if (given == values_.end() || given->second.empty()) continue;
    const std::string& text = given->second;
    const std::string names = option_names(setting);
    const std::string name = names.substr(0, names.find(','));
    if (setting.kind == SettingKind::boolean) {
      words.push_back(text == "false" ? "--no-" + name.substr(2) : name);
    } else {
      words.push_back(name);
      words.push_back(text);
    }
  }
  if (!speculative_config_.empty()) {
    words.emplace_back("--speculative-config");
    words.push_back(speculative_config_);
  }
  return words;
}

Status check_given_settings(const SettingsOptions& options, const std::string& scenario,
                            const std::string& model) {
  const auto alone = options.apply({});
  if (!alone.ok()) return alone.error();
  // A file that cannot be read is told by who runs it; an unknown name is the command line's.
  if (!model.empty())
    if (const auto named = resolve_model(model);
        !named.ok() && named.error().kind == ErrorKind::not_found)
      return named.error();
  if (options.words().empty()) return Ok{};
  if (scenario.empty())
    return check_model_settings(model.empty() ? kDefaultTrafficModel : model, alone.value());
  std::error_code error;
  // What is no file (a pipe, a folder) is read once, by who runs it.
  if (!std::filesystem::is_regular_file(scenario, error)) return Ok{};
  auto read = read_scenario_file(scenario);
  if (!read.ok()) return Ok{};
  if (!model.empty()) read.value().model = model;
  const auto given = options.apply(read.value().settings);
  if (!given.ok()) return given.error();
  return check_scenario_settings(std::move(read).value(), given.value(), scenario);
}

Status check_model_settings(const std::string& model, const EngineSettings& given) {
  const auto setup = make_engine_setup(model, given);
  return setup.ok() || !make_engine_setup(model, EngineSettings()).ok() ? Ok{}
                                                                        : Status(setup.error());
}

Status check_scenario_settings(Scenario scenario, const EngineSettings& given,
                               const std::string& file) {
  const EngineSettings own = std::exchange(scenario.settings, given);
  const auto plan = plan_scenario(scenario, file);
  if (plan.ok()) return Ok{};
  scenario.settings = own;
  return plan_scenario(scenario, file).ok() ? Status(plan.error()) : Ok{};
}

}  // namespace hybridscope
