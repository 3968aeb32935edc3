// `hybridscope judge`: executes and checks the decisions of another engine.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "cli/cli_fwd.h"
#include "cli/run_tests.h"
#include "core/base/result.h"
#include "sessions/job/backends.h"
#include "sessions/job/judge_report.h"
#include "sessions/job/judge_session.h"
#include "sessions/job/state_option.h"
#include "sessions/text/command_files.h"

namespace hybridscope {

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

// Judged traces as tested units, one per trace; one more, named after the input, when judging was
// cut short or found no trace.
std::vector<TestedUnit> tested_traces(const JudgeCommandOptions& options,
                                      const JudgeReport& report);

// What it reads and writes.
CommandFiles files_of(const JudgeCommandOptions& options);

// Where its text goes (text_stream).
std::FILE* text_stream_of(const JudgeCommandOptions& options);

void add_judge_options(CLI::App& command, JudgeCommandOptions& options);
int judge_command(JudgeCommandOptions options, const Backends& backends);

}  // namespace hybridscope
