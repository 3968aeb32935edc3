// What is asked of a run, and the plan that follows from it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/check/step_checker.h"
#include "sessions/job/settings_options.h"
#include "sessions/job/state_option.h"
#include "sessions/job/step_files.h"
#include "sessions/run/finding_baseline.h"
#include "sessions/run/run_plan.h"
#include "sessions/text/command_files.h"
#include "sessions/traffic/load_traffic.h"

namespace hybridscope {

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
  std::string trace;    // file to write for `judge`, empty: none
  RecordOption record = {};
};

// What a run reads and writes.
CommandFiles files_of(const RunOptions& options);

// The scenario with the settings and model of the options.
Result<Scenario> read_scenario(const RunOptions& options);

// Error: unreadable or invalid input, impossible settings.
Result<RunPlan> make_run_plan(const RunOptions& options);

}  // namespace hybridscope
