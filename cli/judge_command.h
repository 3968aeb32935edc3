// `hybridscope judge`: executes and checks the decisions of another engine.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/backends.h"
#include "cli/cli_fwd.h"
#include "cli/judge_report.h"
#include "cli/output_targets.h"
#include "cli/record_option.h"
#include "cli/state_option.h"
#include "cli/tested_unit.h"
#include "cli/trace_input.h"
#include "core/base/result.h"
#include "core/check/step_checker.h"
#include "sessions/run/language_model.h"

namespace hybridscope {

class JudgeSession;

struct JudgeOptions {
  std::string input;           // a file, or "-"
  bool follow = false;         // goes on as the input grows, and prints findings as they come
  bool from_pipeline = false;  // the input is a vector file of the reference, not a trace
  bool convert = false;        // print the trace instead of judging it
  std::string filter;          // only traces whose name contains it; empty: all
  std::int64_t explain = 0;    // step to explain in full, 0: none
  CheckScope check = CheckScope::step;
  std::string engine;  // profile to compare with, "safe" or "reference"; empty: none
  bool json = false;
  bool timings = true;
  bool strict = false;
  bool quiet = false;      // print the summary only
  std::string junit;       // file to write, empty: none
  std::string tap;         // as well
  StateOption state;       // which language model runs on the decisions, and where
  LanguageModel language;  // the same, loaded
  RecordOption record;     // several traces: the second one's name ends in "-2"
};

// Judged traces as tested units, one per trace; one more, named after the input, when judging was
// cut short or found no trace.
std::vector<TestedUnit> tested_traces(const JudgeOptions& options, const JudgeReport& report);

// Judges the lines of `source`, of which `options` says what they are. Before each line `go_on` is
// asked; false: it ends there, as where a sink wants no more. Error: bad input; the lines before it
// were judged.
Status judge_lines(const JudgeOptions& options, TraceInput& source, JudgeSession& session,
                   const std::function<bool()>& go_on);

// What it reads and writes.
CommandFiles files_of(const JudgeOptions& options);

// Where its text goes (text_stream).
std::FILE* text_stream(const JudgeOptions& options);

void add_judge_options(CLI::App& command, JudgeOptions& options);
int judge_command(JudgeOptions options, const Backends& backends);

}  // namespace hybridscope
