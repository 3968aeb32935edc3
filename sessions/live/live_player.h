// Plays a plan on an engine, forward and back. It keeps a few snapshots of the checked run, dense
// near the current step and sparse far from it. Going back restores the nearest snapshot and runs
// on from there, which makes the same traces again. For user interfaces that move about in a run
// while it is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "sessions/explain/explain_decision.h"
#include "sessions/record/record_views.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"

namespace hybridscope {

// Numbers of a request when it last had a part in a step; -1: not known.
struct RequestCounts {
  std::int32_t num_prompt_tokens = -1;
  std::int32_t num_computed_tokens = -1;  // as the scheduler counts, tokens in flight included
  std::int32_t num_generated = -1;        // output tokens that have returned
  std::int32_t num_preemptions = -1;
  friend bool operator==(const RequestCounts&, const RequestCounts&) = default;
};
// Takes what the step says of the requests that have a part in it. `of` returns a request's counts;
// null: it is left out.
void take_counts(const StepTrace& trace, const std::function<RequestCounts*(RequestId)>& of);

class LivePlayer final : private StepSink {
 public:
  struct Options {
    std::size_t max_snapshots = 32;  // at least 3; the start is always one of them
    std::int64_t spacing = 16;       // steps between two snapshots when going forward
    CheckScope scope = CheckScope::step;
    bool logs_writes = false;  // the checker logs writes to state
    // These, which must outlive the player, get each step when it is run for the first time.
    std::vector<StepSink*> sinks = {};
  };

  // Starts before the first step. Error: what CheckedRun::create refuses.
  static Result<std::unique_ptr<LivePlayer>> create(RunPlan plan, Options options);
  LivePlayer(const LivePlayer&) = delete;
  LivePlayer& operator=(const LivePlayer&) = delete;

  // Is there no next step? Either the run has ended, or the current step found that it makes no
  // progress.
  bool done() const { return live_.run.has_ended(); }

  // Runs the next step. Errors: not_found, the run is done; those of drive(), after which the
  // player can only go back. An exception also leaves the player at the step before.
  Status step();
  // Error not_found: no such step (idle steps are left out); the player stays where it is.
  Status go_to(std::int64_t step);

  // The number of steps that go_to would run. Requires: a known step.
  std::int64_t num_steps_to(std::int64_t step) const;
  // Moves to where go_to(step) would begin, so that the caller can continue with step() a few steps
  // at a time. Requires: a known step other than the current one. Errors: those of step().
  Status begin_go_to(std::int64_t step);

  // Continues with another plan; the steps after the current one are forgotten. Requires: both
  // plans are equal up to the current step, the engine did not refuse to continue there, and the
  // run still makes progress.
  void continue_with(const RunPlan& plan);
  bool can_continue() const { return !refused_ && live_.run.end() != EndReason::no_progress; }

  // The last step ever reached; 0: none.
  std::int64_t last_known_step() const { return numbers_.empty() ? 0 : numbers_.back(); }
  // The steps ever reached, ascending.
  std::span<const std::int64_t> known_steps() const { return numbers_; }

  // The trace of the current step; valid until the next move. Requires: number() > 0.
  const StepTrace& trace() const;
  std::span<const Finding> findings() const;
  std::span<const StateWrite> writes() const;
  // Block tables during the current step.
  const StepTables& tables() const { return live_.tables; }
  // The current step's changes of the worker's tables.
  std::span<const WorkerTableChange> worker_changes() const { return worker_changes_; }

  std::int64_t number() const { return number_of(position_); }  // 0: before the first step
  const CheckedRun& run() const { return live_.run; }

  // Up to the current step.
  const OwnCounts& own_counts() const { return live_.own_counts; }
  RequestCounts counts(RequestId request) const {
    const auto id = static_cast<std::size_t>(request.value);
    return id < live_.counts.size() ? live_.counts[id] : RequestCounts();
  }

  // About what a snapshot takes in memory: nearly all of it is kept for each block.
  static std::size_t snapshot_bytes(const EngineConfig& config);
  // Keeps at most so many snapshots from now on, at least 3.
  void set_max_snapshots(std::size_t most);
  std::size_t num_snapshots() const { return snapshots_.size(); }
  std::int64_t num_steps_run() const { return num_steps_run_; }  // repeated steps included

 private:
  // A run before step number `position` + 1, counting the steps that are run.
  struct Stand {
    CheckedRun run;
    StepTables tables;
    OwnCounts own_counts = {};
    std::vector<RequestCounts> counts = {};  // by request id
    std::int64_t position = 0;
    Stand clone() const { return {run.clone(), tables, own_counts, counts, position}; }
  };

  LivePlayer(Stand start, Options options);
  std::int64_t number_of(std::int64_t position) const;
  std::int64_t position_of(std::int64_t step) const;
  const Stand* restart_for(std::int64_t position) const;
  const Stand& snapshot_before(std::int64_t position) const;
  void stand_on(const Stand& snapshot);
  bool wants_writes() const override {
    return options_.logs_writes || any_wants_writes(options_.sinks);
  }
  Result<Going> take(const CheckedStep& step) override;
  Status run_next();
  Status run_until(const StopAsked& reached);
  Status move_to(std::int64_t position);
  void keep_snapshot();
  void thin_snapshots();

  Options options_;
  Stand live_;
  std::int64_t position_ = 0;          // steps run to reach the current one
  std::vector<std::int64_t> numbers_;  // [steps ever reached] step numbers
  std::vector<Stand> snapshots_;       // ascending positions
  // The last step of live_; empty right after a snapshot is restored.
  std::optional<CheckedStep> step_;
  std::vector<WorkerTableChange> worker_changes_;
  std::optional<Error> refused_;  // the error of live_'s run, which can no longer be used
  std::int64_t num_steps_run_ = 0;
};

}  // namespace hybridscope
