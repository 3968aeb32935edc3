// A plan run step by step under the checker. Engine, checker and the guard against runs that never
// end are put together here, for everybody who runs a plan; what a step means is the caller's.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/check/progress_watch.h"
#include "core/check/state_twin.h"
#include "core/check/step_checker.h"
#include "sessions/run/runner.h"

namespace hybridscope {

// One step and what was found in it; valid until the next one.
struct CheckedStep {
  const StepTrace& trace;
  std::span<const Finding> findings;
  std::span<const StateWrite> writes;  // to state, in order; empty unless log_writes()
};

// Why a run has no next step.
enum class EndReason : std::uint8_t {
  none,         // it has one
  finished,     // everything in the plan has happened
  no_progress,  // its requests will never finish (rule no_progress)
  step_limit,   // CheckedRunOptions::max_steps were run
};

struct CheckedRunOptions {
  // What is checked after each step. Absent: nothing but progress, for callers that read decisions
  // and no states (the cache report of real traffic, a trace that is written again).
  std::optional<CheckScope> check = CheckScope::step;
  std::int64_t max_steps = std::numeric_limits<std::int64_t>::max();
  // Keeps the states in this memory as well, which holds poison throughout, and compares it with
  // the symbolic ones after each step. May be null. Requires: the run is checked.
  std::unique_ptr<StateBackend> state = nullptr;
};

class CheckedRun {
 public:
  // Stands before the first step. Error: what Runner, StepChecker or StateTwin refuses.
  static Result<CheckedRun> create(RunPlan plan, CheckedRunOptions options = {});

  // An independent copy in the current state; both go on alike. Requires: no state in bytes.
  CheckedRun clone() const;
  // Goes on by another plan. Requires: it says the same of the steps that were run.
  void follow(std::shared_ptr<const RunPlan> plan) { runner_.follow(std::move(plan)); }

  EndReason end() const;
  bool has_ended() const { return end() != EndReason::none; }

  // Runs and checks the next step; findings about the bytes come behind the others, and after the
  // last step of the plan all bytes are compared. Requires: !has_ended(). Errors: those of
  // Runner::step; "step N: " and that of the state's memory. There is no step after an error.
  Result<CheckedStep> step();

  // From the next step on: steps come with their writes to state. Requires: the run is checked.
  void log_writes();

  const Engine& engine() const { return runner_.engine(); }
  const RunPlan& plan() const { return runner_.plan(); }
  std::int64_t num_steps() const { return num_steps_; }  // that were run
  // What blocks hold after the last step. Requires: the run is checked.
  const CheckState& state() const;

  // Null without state in bytes.
  StateBackend* state_backend() const { return options_.state.get(); }
  std::int64_t num_elements_verified() const { return twin_ ? twin_->num_elements_verified() : 0; }

 private:
  CheckedRun(Runner runner, std::optional<StepChecker> checker, CheckedRunOptions options);
  Result<std::span<const Finding>> check(const StepTrace& trace);

  CheckedRunOptions options_;
  Runner runner_;
  std::optional<StepChecker> checker_;
  std::optional<StateTwin> twin_;  // with options_.state
  std::vector<Finding> findings_;  // of the last step, with options_.state
  ProgressWatch progress_;         // of an unchecked run; the checker has its own
  bool no_progress_ = false;
  std::int64_t num_steps_ = 0;
};

}  // namespace hybridscope
