// Engine settings as texts that a person gave, by name.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/scenario/scenario.h"
#include "sessions/scenario/settings.h"
#include "sessions/scenario/settings_table.h"

namespace hybridscope {

// The name under which a profile is shown. Error: there is none; the message has the nearest.
Result<std::string> engine_profile_called(const std::string& name);
class SettingsOptions {
 public:
  // Where the option of a setting, and --speculative-config, put their text; valid as long as this
  // object.
  std::string& text_of(const Setting& setting) { return values_[setting_path(setting)]; }
  std::string& speculative_config() { return speculative_config_; }

  // Does what giving the option of a setting does. `key` names the setting as find_setting_called
  // takes it, also with dashes. Error: there is no such setting.
  Status give(std::string_view key, const std::string& value);

  // What was given, on top of `base`. Error: a value out of range, or bad JSON in
  // --speculative-config.
  Result<EngineSettings> apply(EngineSettings base) const;

  // Only the option of one setting out of what was given; the setting is a path of setting_path().
  SettingsOptions only(const std::string& setting) const;

  // What was given, as words of a command line.
  std::vector<std::string> words() const;

 private:
  Status apply_speculative_config(EngineSettings& settings) const;

  std::map<std::string, std::string> values_;  // setting path -> text as given; may lack some
  std::string speculative_config_;
};

// Wrong usage, before anything runs: a value that is not allowed, or given settings without
// which the scenario (a file; empty: none) or the model (empty: the scenario's, else the
// default) can be run, and with which it cannot: they conflict, or ask for sizes that the model or
// a request does not allow. What cannot be run in either case is the input's fault.
Status check_given_settings(const SettingsOptions& options, const std::string& scenario,
                            const std::string& model = {});
// Checks settings that were read already; `given`: the scenario's with those that were given on
// top.
Status check_model_settings(const std::string& model, const EngineSettings& given);
Status check_scenario_settings(Scenario scenario, const EngineSettings& given,
                               const std::string& file);

}  // namespace hybridscope
