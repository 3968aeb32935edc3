// Options of `hybridscope run`.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "cli/cli_fwd.h"
#include "cli/suite_selection.h"
#include "sessions/breakpoint/break_conditions.h"
#include "sessions/job/run_options.h"

namespace hybridscope {

enum class RunOutput : std::uint8_t { table, json, jsonl };

// What `hybridscope run` was asked for. With several scenarios, `scenario` is the first of them.
struct RunCommandOptions : RunOptions {
  SuiteOptions suite;        // all scenarios, and which of them
  std::int64_t explain = 0;  // step to explain in full, 0: none
  BreakOption breaks = {};
  RunOutput output = RunOutput::table;
  bool timings = true;
  bool quiet = false;
  bool table_of_traffic = false;
  bool twin = false;  // run the scenario twice and compare
  std::string junit;  // file to write, empty: none
  std::string tap;    // as well
};

void add_run_options(CLI::App& command, RunCommandOptions& options);

// What a run reads and writes.
CommandFiles files_of(const RunCommandOptions& options);

// Where the text of a run goes (text_stream).
std::FILE* text_stream_of(const RunCommandOptions& options);

}  // namespace hybridscope
