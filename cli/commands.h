// The commands that are one file each, NAME_command.cpp: the options of each, and the functions
// that add and run it. command_line.cpp has their table.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/common_options.h"
#include "cli/run_command.h"
#include "core/base/result.h"
#include "sessions/job/backends.h"
#include "sessions/job/diff_comparison.h"
#include "sessions/job/judge_session.h"
#include "sessions/job/run_options.h"
#include "sessions/job/state_option.h"

namespace hybridscope {

// `hybridscope doctor`: what this build and this machine have.

// The text below its --help.
void describe_doctor(CLI::App& command);

int doctor_command(const Backends& backends);

// `hybridscope diff`: two sessions side by side, recorded ones or a scenario run twice.

struct DiffCommandOptions : DiffOptions {
  bool json = false;
  std::string html;  // the page to write; "-": standard output, empty: none
};

void add_diff_options(CLI::App& command, DiffCommandOptions& options);

// Prints the report, or writes the page first. Returns the exit code: 1 when there are differences.
int diff_command(const DiffCommandOptions& options);

// hybridscope explain-cache: why each request hit as many tokens as it did.

struct ExplainCacheOptions {
  RunOptions run;  // scenario, traffic, model, limit, settings
  RunOutput output = RunOutput::table;
  std::string request;                   // shown in full sentences; empty: all, as a table
  std::int64_t top = 0;                  // lookups that lost most, 0: not given
  std::vector<std::string> sweeps = {};  // settings to try, "NAME=VALUE,..."
};

void add_explain_cache_options(CLI::App& command, ExplainCacheOptions& options);
int explain_cache_command(const ExplainCacheOptions& options);

// hybridscope export: a scenario's run in the forms that vLLM's developers use.

// Options and examples; the function runs the command.
std::function<int()> add_export_command(CLI::App& command);

// `hybridscope gui`: the workbench, in a window or into a picture.

// `scenario` is the file to open, whatever is in it; empty: the start screen. `record` is of what
// comes from a living engine; `state` the language model that runs on the decisions, and where.
struct GuiOptions : RunOptions {
  std::string attach;  // FILE or unix:PATH of a living engine
  std::string screenshot;
  std::string script;
  std::string size;  // "1600x1000"; empty: as it was the last time
  std::string theme;
  std::string scale;
  std::vector<std::string> commands;
  bool bench = false;
  bool lists_commands = false;
  bool window = false;  // a screenshot or bench of a real window
};

void add_gui_options(CLI::App& command, GuiOptions& options);
int gui_command(const GuiOptions& options, const Backends& backends);

// `hybridscope judge`: executes and checks the decisions of another engine.

struct JudgeCommandOptions : JudgeOptions {
  bool convert = false;      // print the trace instead of judging it
  std::int64_t explain = 0;  // step to explain in full, 0: none
  bool json = false;
  bool timings = true;
  bool strict = false;
  bool quiet = false;  // print the summary only
  std::string junit;   // file to write, empty: none
  std::string tap;     // as well
  StateOption state;   // which language model runs on the decisions, and where
};

void add_judge_options(CLI::App& command, JudgeCommandOptions& options);
int judge_command(JudgeCommandOptions options, const Backends& backends);

// `hybridscope model`: shapes, dtypes, page and block size and why.

struct ModelOptions {
  std::string model;
  bool json = false;
  bool list = false;
  SettingsOptions settings;
};

void add_model_options(CLI::App& command, ModelOptions& options);
int model_command(const ModelOptions& options);

// hybridscope shrink: a smaller scenario or trace that still shows a finding.

// Options and examples; the function runs the command.
std::function<int()> add_shrink_command(CLI::App& shrink);

// `hybridscope lessons ...`: list, show, take, check and export lessons.

// Adds the subcommands to `lessons`; the result runs the one that was given, or lists.
std::function<int()> add_lessons_command(CLI::App& lessons, const Backends& backends);

}  // namespace hybridscope
