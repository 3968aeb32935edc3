// Options of `hybridscope run`.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/cli_fwd.h"
#include "core/base/result.h"
#include "sessions/breakpoint/break_condition.h"
#include "sessions/job/run_options.h"
#include "sessions/job/shared_work.h"

namespace hybridscope {

// Which scenarios a suite has, and which of them run here.

// Which scenarios `hybridscope run` is to run.

struct SuiteOptions {
  std::vector<std::string> paths;  // scenario files, and folders of them
  std::string filter;              // glob on names, empty: all
  std::optional<Shard> shard;
  std::string failed_in;  // TAP report: only scenarios that failed there; empty: all

  // True for more than one file; a folder, a filter or a shard makes even one file a suite.
  bool is_suite() const;
};

void add_suite_options(CLI::App& command, SuiteOptions& options);

struct SuiteEntry {
  std::string file{};            // as given, or inside a folder that was given
  std::string name{};            // of the scenario; of the file where the scenario cannot be read
  std::optional<Error> error{};  // why it cannot be read
};

// Every *.json directly inside a folder in the order of their names, files as given, none twice.
// A file that is missing or cannot be read is an entry with its error.
std::vector<SuiteEntry> find_scenarios(std::span<const std::string> paths);

// Does the entry's name, or its file's name without .json, match the glob? An empty one matches.
bool matches(const SuiteEntry& entry, const std::string& filter);

struct SuiteSelection {
  std::vector<SuiteEntry> found;  // all scenarios
  std::vector<SuiteEntry> runs;   // those that match the filter and fall into the shard
  std::size_t num_matching = 0;   // those that match the filter
};

// How to choose; with `failed`, only the names in it.
struct SuiteChoice {
  std::string filter;  // glob, empty: all
  std::optional<std::vector<std::string>> failed;
  std::optional<Shard> shard;
};

SuiteSelection select_scenarios(std::vector<SuiteEntry> found, const SuiteChoice& choice);

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
