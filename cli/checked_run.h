// A plan run step by step under the checker, and what it adds up to; printing is for others.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/run_report.h"
#include "cli/state_bytes.h"
#include "core/check/state_twin.h"
#include "core/check/step_checker.h"
#include "sessions/explain/explain_names.h"
#include "sessions/run/expectation_check.h"
#include "sessions/run/run_summary.h"
#include "sessions/run/runner.h"

namespace hybridscope {

// Both valid until the next step.
struct CheckedStep {
  const StepTrace* trace = nullptr;
  std::span<const Finding> findings;
};

// Why a run ends before it is over.
struct RunEnd {
  bool interrupted = false;
  std::string refused = {};  // what the engine refused, empty: nothing
  std::string broken = {};   // what it stopped at, empty: at nothing
  bool unrecorded = false;   // its session could not be written
  bool timings = true;
};

class CheckedRun {
 public:
  // Error: what the runner or the checker refuses.
  static Result<std::unique_ptr<CheckedRun>> create(RunPlan plan, CheckScope scope);
  CheckedRun(Runner runner, StepChecker checker, CheckScope scope);
  CheckedRun(const CheckedRun&) = delete;  // the names refer to the engine of this object
  CheckedRun& operator=(const CheckedRun&) = delete;

  // Before the first step: state is kept in these bytes beside the symbolic one, and held against
  // it after each step. Error: what StateTwin::create refuses.
  Status keep_state_in(StateBytes bytes);

  // Nothing is left to do.
  bool done() const { return runner_.done(); }
  // Nothing is left to do, or nothing can be done.
  bool over() const { return done() || cannot_progress_; }
  // Error: a request or command that the engine refuses, a device that is lost.
  Result<CheckedStep> step();
  // After the last step: digests the bytes. Error: the device is lost.
  Status digest_state();
  // What it was; the steps so far count when it is not over.
  RunReport finish(const RunEnd& end);
  // One line, empty when it is done.
  std::string why_stopped(const RunEnd& end) const;

  // From the next step on: keep its writes to state.
  void log_writes() { checker_.log_writes(); }
  // Those of the last step.
  std::span<const StateWrite> writes() const { return checker_.writes(); }

  CheckScope scope() const { return scope_; }
  const Engine& engine() const { return runner_.engine(); }
  const RunPlan& plan() const { return runner_.plan(); }
  const Names& names() const { return names_; }
  const RunSummary& summary() const { return summary_.summary(); }
  std::int64_t num_errors() const { return report_.findings.num_found(Severity::error); }

 private:
  Result<std::span<const Finding>> check(const StepTrace& trace);

  Runner runner_;
  StepChecker checker_;
  CheckScope scope_;
  Names names_;
  SummaryBuilder summary_;
  ExpectationCheck expectation_;
  std::unique_ptr<StateBackend> state_;  // bytes; null: symbolic only
  std::optional<StateTwin> twin_;        // with state_
  std::vector<Finding> findings_;        // of the last step, with state_
  RunReport report_;
  bool cannot_progress_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Keeps the run's state as the option says. Errors: those of make_state_bytes and keep_state_in.
Status keep_state(const StateOption& option, const Backends& backends, CheckedRun& run);

}  // namespace hybridscope
