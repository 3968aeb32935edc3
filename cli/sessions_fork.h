// `hybridscope sessions fork`: runs a recorded session again with changes from a step on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli_fwd.h"
#include "core/base/result.h"
#include "sessions/explain/explain_names.h"
#include "sessions/job/step_files.h"
#include "sessions/live/fork.h"
#include "sessions/record/step_digests.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/finding_list.h"

namespace hybridscope {

// A fork as it runs: compared with its parent, checked, and recorded when asked to.

class ForkRun {
 public:
  explicit ForkRun(CheckedRun run);
  ForkRun(const ForkRun&) = delete;
  ForkRun& operator=(const ForkRun&) = delete;

  // The files that are written from the first step on. Errors: those of StepFiles::begin.
  Status begin_files(const StepFileOptions& options, const SessionHeader& header);

  // To the run's end or to Ctrl-C. Error: a step that differs from the parent's, what the engine
  // refuses, what keeps the file from being written.
  Status run(ForkGuard& guard);

  std::int64_t num_steps() const { return run_.num_steps(); }
  const FindingList& findings() const { return findings_; }

 private:
  StepsEnd steps_end(const Status& ended) const;

  CheckedRun run_;
  Names names_;
  StepDigester digester_;
  StepFiles files_;
  FindingList findings_;
};

struct SessionsForkOptions {
  std::string place = {};  // FILE.db[:NAME]
  std::int32_t step = 0;
  std::vector<std::string> accept = {};  // "A=2"
  std::vector<std::string> drafts = {};
  std::vector<std::string> preempt = {};
  std::vector<std::string> abort = {};
  std::vector<std::string> policies = {};  // "no_draft_step=column_zero"
  std::string engine = {};                 // empty: stays
  std::int32_t budget = 0;                 // 0: stays
  bool reset = false;
  bool reset_running = false;
  bool drop_script = false;
  RecordOption record = {};
};

// The command, below `sessions`.
CLI::App& add_sessions_fork(CLI::App& sessions, SessionsForkOptions& options);

// What the options ask for. Error: text that is not a count or not a policy.
Result<ForkAt> fork_of(const SessionsForkOptions& options);

// kExitFine: it ran without an error finding; kExitFindings: with one.
int sessions_fork_command(const SessionsForkOptions& options);

}  // namespace hybridscope
