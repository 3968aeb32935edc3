// What is asked of a run, engine settings among it, and the plan that follows from it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/check/step_checker.h"
#include "sessions/job/state_option.h"
#include "sessions/job/step_files.h"
#include "sessions/run/finding_baseline.h"
#include "sessions/run/run_plan.h"
#include "sessions/scenario/scenario.h"
#include "sessions/scenario/settings.h"
#include "sessions/scenario/settings_table.h"
#include "sessions/text/command_files.h"
#include "sessions/traffic/load_traffic.h"

namespace hybridscope {

// Engine settings as texts that a person gave, by name.

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

// Findings that do not fail a run: --expect-known-bugs, --baseline and --write-baseline.

struct KnownFindingsOption {
  bool known_bugs = false;     // of the engine's profile
  std::string baseline;        // file to read, empty: none
  std::string write_baseline;  // file to write, empty: none
  // Set by load_baselines(): what --baseline says, and what --write-baseline collects.
  std::shared_ptr<FindingBaseline> known = nullptr;
  std::shared_ptr<FindingBaseline> collected = nullptr;
};

// Findings that do not fail, and why not.
struct ExcusedFindings {
  std::string source{};  // "known bug 48, skipped-step-forgets-accepted-count"
  std::int64_t findings = 0;
};

// Error: that of FindingBaseline::read.
Status load_baselines(KnownFindingsOption& option);

// "13 findings are from known bug 7, ...".
std::string excused_words(const ExcusedFindings& excused);

struct RunOptions {
  std::string scenario;       // a file; empty: traffic
  std::string scenario_text;  // what to take for the file's content; empty: the file is read
  std::string traffic;        // file or "synthetic"
  TrafficOptions traffic_options = {};
  std::string model;  // empty: the scenario's, else the default
  SettingsOptions settings;
  std::int64_t limit = 0;  // requests of the traffic, 0: all
  std::int64_t steps = 0;  // stop after this many, 0: at the end
  CheckScope check = CheckScope::step;
  StateOption state = {};
  KnownFindingsOption known = {};
  bool strict = false;  // warnings count as findings
  StepFileOptions files = {};
};

// What a run reads and writes.
CommandFiles files_of(const RunOptions& options);

// The scenario with the settings and model of the options.
Result<Scenario> read_scenario(const RunOptions& options);

// Error: unreadable or invalid input, impossible settings.
Result<RunPlan> make_run_plan(const RunOptions& options);

}  // namespace hybridscope
