// The options that several commands have, each group written once. `command` keeps a reference to
// the value, which must outlive the parsing.
#pragma once

#include <functional>
#include <vector>

#include "sessions/breakpoint/break_condition.h"
#include "sessions/job/run_options.h"
#include "sessions/job/state_option.h"
#include "sessions/job/step_files.h"
#include "sessions/traffic/load_traffic.h"

// All of CLI/CLI.hpp is 81,000 lines.
namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace hybridscope {

// One subcommand of a command: run() is called when it was given, and returns the exit code.
struct Subcommand {
  CLI::App* app = nullptr;
  std::function<int()> run;
};
// Runs the one that was given; the first one where none was.
std::function<int()> run_given(std::vector<Subcommand> subcommands);

// For check(): accepts digits that are not all 0.
CLI::Validator is_positive_number();

// For transform(): accepts what parse_engine_profile does and keeps the name under which a profile
// is shown.
CLI::Validator is_engine_profile();

// Engine settings, from the table of settings: vLLM's spelling with dashes, and a few short forms.
void add_settings_options(CLI::App& command, SettingsOptions& options);

// --state, --weights, --form, --backend, --device and --state-memory.
void add_state_options(CLI::App& command, StateOption& option);
// The part of them that commands have which run a language model and keep no bytes: without
// --state bytes and --state-memory.
void add_language_options(CLI::App& command, StateOption& option);

// --backend and --device; `words` describe --backend.
void add_backend_options(CLI::App& command, StateOption& option, const std::string& words,
                         const std::string& group = "Options");

// --record and --record-level. What was recorded is told on stderr.
void add_record_options(CLI::App& command, RecordOption& option);
// What any source of steps can be written to (step_files.h): these, so far. --trace needs our own
// engine.
void add_step_file_options(CLI::App& command, StepFileOptions& options);

// --break and --break-hits.
void add_break_options(CLI::App& command, BreakOption& option);

// --check of what runs a scenario.
void add_check_option(CLI::App& command, CheckScope& check);

// What --traffic says in every command.
inline constexpr const char* kTrafficHelp =
    "traffic file (docs/traffic.md has the formats; zstd too) or \"synthetic\"";

// --traffic-format, --users, --think-time and --request-rate: how traffic is read, and when its
// requests arrive (docs/traffic.md). Requires: `command` has --traffic.
void add_traffic_options(CLI::App& command, TrafficOptions& options);

// --expect-known-bugs, --baseline and --write-baseline: findings that do not fail a run. Requires:
// `command` has --twin.
void add_known_findings_options(CLI::App& command, KnownFindingsOption& option);

}  // namespace hybridscope
