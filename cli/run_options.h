// Options of `hybridscope run`, and the plan that follows from them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "cli/break_option.h"
#include "cli/cli_fwd.h"
#include "cli/known_findings_option.h"
#include "cli/output_targets.h"
#include "cli/record_option.h"
#include "cli/settings_options.h"
#include "cli/state_option.h"
#include "cli/suite_selection.h"
#include "cli/traffic_options.h"
#include "core/base/result.h"
#include "core/check/step_checker.h"
#include "sessions/run/run_plan.h"

namespace hybridscope {

enum class RunOutput : std::uint8_t { table, json, jsonl };

struct RunOptions {
  std::string scenario;       // file, the first of several; empty: traffic
  std::string scenario_text;  // what to take for the file's content; empty: the file is read
  SuiteOptions suite;         // all scenarios, and which of them
  std::string traffic;        // file or "synthetic"
  TrafficOptions traffic_options = {};
  std::string model;  // empty: the scenario's, else the default
  SettingsOptions settings;
  std::int64_t limit = 0;    // requests of the traffic, 0: all
  std::int64_t steps = 0;    // stop after this many, 0: at the end
  std::int64_t explain = 0;  // step to explain in full, 0: none
  CheckScope check = CheckScope::step;
  StateOption state = {};
  BreakOption breaks = {};
  RunOutput output = RunOutput::table;
  bool timings = true;
  bool strict = false;
  bool quiet = false;
  KnownFindingsOption known = {};
  bool table_of_traffic = false;
  bool twin = false;  // run the scenario twice and compare
  std::string junit;  // file to write, empty: none
  std::string tap;    // as well
  std::string trace;  // file to write for `judge`, empty: none
  RecordOption record;
};

void add_run_options(CLI::App& command, RunOptions& options);

// What a run reads and writes.
CommandFiles files_of(const RunOptions& options);

// Where the text of a run goes (text_stream).
std::FILE* text_stream(const RunOptions& options);

// The scenario with the settings and model of the command line.
Result<Scenario> read_scenario(const RunOptions& options);

// Error: unreadable or invalid input, impossible settings.
Result<RunPlan> make_run_plan(const RunOptions& options);

}  // namespace hybridscope
