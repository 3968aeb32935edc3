// A run that goes step by step and can explain the step where it is; knows nothing of Python.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/trace/block_table_mirror.h"
#include "sessions/job/reported_run.h"
#include "sessions/job/run_options.h"
#include "sessions/job/step_files.h"

namespace hybridscope {

class SteppedRun {
 public:
  // Errors: what the plan, the device or the session's file refuses.
  static Result<std::unique_ptr<SteppedRun>> create(RunOptions options, const Backends& backends);

  // Runs the next step. False: there is none, or as many as asked for were run; the run stays where
  // it is. Error: what the engine refuses, or what keeps the session from being written; there is
  // no next step then.
  Result<bool> step();

  // The step where the run is. Requires: has_step().
  bool has_step() const { return current_.has_value(); }
  nlohmann::ordered_json step_as_json() const;
  std::vector<nlohmann::ordered_json> findings() const;
  std::string explain() const;

  const ReportedRun& run() const { return *run_; }

  // Ends the run and its session; once.
  struct End {
    RunReport report;
    std::string_view outcome;  // outcome_name
  };
  Result<End> finish(bool interrupted);

 private:
  SteppedRun(RunOptions options, std::unique_ptr<ReportedRun> run);
  Status begin_files();
  void leave_step();

  RunOptions options_;
  std::unique_ptr<ReportedRun> run_;
  StepFiles files_;
  BlockTableMirror tables_;  // after the step's cache_events, before its commit_events
  std::optional<CheckedStep> current_;
  std::optional<Error> refused_;
  bool unrecorded_ = false;
};

}  // namespace hybridscope
