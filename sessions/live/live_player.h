// Plays a plan on an engine, forward and back: snapshots of the checked run are kept on the way,
// few in all, dense near the step it is at and sparse far from it. Going back restores the nearest
// one and runs on from there, which makes the same traces again. For interfaces that move about in
// a run while it is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "sessions/record/step_tables.h"
#include "sessions/run/checked_run.h"

namespace hybridscope {

class LivePlayer {
 public:
  struct Options {
    std::size_t max_snapshots = 32;  // from 3; the start is always one of them
    std::int64_t spacing = 16;       // steps between two snapshots when going forward
    CheckScope scope = CheckScope::step;
    bool logs_writes = false;  // of state, by the checker
    // Told of each step when it is run for the first time; may be empty.
    std::function<void(const CheckedStep&)> on_new_step = {};
  };

  // Stands before the first step. Error: what CheckedRun::create refuses.
  static Result<std::unique_ptr<LivePlayer>> create(RunPlan plan, Options options);
  LivePlayer(const LivePlayer&) = delete;
  LivePlayer& operator=(const LivePlayer&) = delete;

  // There is no step behind this one: the run is over, or this step found that it makes no progress
  // any more.
  bool done() const { return live_.run.has_ended(); }

  // Goes on by one step. Errors: not_found, it is done; those of CheckedRun::step, after which the
  // only ways are back. What is thrown inside leaves the player at the step before, and likewise.
  Status step();
  // Error not_found: this is the first step.
  Status step_back();
  // Error not_found: no such step (steps in which nothing happens are left out); the player stays
  // where it is.
  Status go_to(std::int64_t step);

  // Steps that go_to would run. Requires: a known step.
  std::int64_t num_steps_to(std::int64_t step) const;
  // Stands at a known step at or before `step` from which step() leads there, where go_to would
  // begin: for who goes there a few steps at a time. Requires: a known step, another one than the
  // one it is at. Errors: those of step().
  Status begin_go_to(std::int64_t step);

  // Goes on by another plan, which says the same of the steps up to the one it is at; those behind
  // it are forgotten. Requires: so, and what it is at neither refused to go on nor found that it
  // makes no progress.
  void continue_with(const RunPlan& plan);
  bool can_continue() const { return !refused_ && live_.run.end() != EndReason::no_progress; }

  // The last step that was ever reached; 0: none.
  std::int64_t last_known_step() const { return numbers_.empty() ? 0 : numbers_.back(); }
  // The steps that were ever reached, ascending.
  std::span<const std::int64_t> known_steps() const { return numbers_; }

  // Of the step it is at: valid until the next move. Requires: number() > 0.
  const StepTrace& trace() const;
  std::span<const Finding> findings() const;
  std::span<const StateWrite> writes() const;
  // Block tables during that step.
  const StepTables& tables() const { return live_.tables; }
  // What it changed in the worker's.
  std::span<const WorkerTableChange> worker_changes() const { return worker_changes_; }

  std::int64_t number() const { return number_of(position_); }  // 0: before the first step
  const CheckedRun& run() const { return live_.run; }

  std::size_t num_snapshots() const { return snapshots_.size(); }
  std::int64_t num_steps_run() const { return num_steps_run_; }  // again and again included

 private:
  // Before step number `position` + 1 of those that are run.
  struct Stand {
    CheckedRun run;
    StepTables tables;
    std::int64_t position = 0;
    Stand clone() const { return {run.clone(), tables, position}; }
  };

  LivePlayer(Stand start, Options options);
  std::int64_t number_of(std::int64_t position) const;
  std::int64_t position_of(std::int64_t step) const;
  const Stand* restart_for(std::int64_t position) const;
  const Stand& snapshot_before(std::int64_t position) const;
  void stand_on(const Stand& snapshot);
  Status run_next();
  Status run_unguarded();
  Status move_to(std::int64_t position);
  void keep_snapshot();
  void thin_snapshots();

  Options options_;
  Stand live_;
  std::int64_t position_ = 0;          // steps run to get here
  std::vector<std::int64_t> numbers_;  // [steps ever reached] their numbers
  std::vector<Stand> snapshots_;       // ascending positions
  std::optional<CheckedStep> step_;    // live_'s last one; empty behind a snapshot
  std::vector<WorkerTableChange> worker_changes_;
  std::optional<Error> refused_;  // by live_'s run, which is good for nothing then
  std::int64_t num_steps_run_ = 0;
};

}  // namespace hybridscope
