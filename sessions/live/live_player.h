// Plays a plan on an engine, forward and back: snapshots of runner and checker are kept on the way,
// few in all, dense near the step it is at and sparse far from it. Going back restores the nearest
// one and runs on from there, which makes the same traces again. For interfaces that move about in
// a run while it is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/check/step_checker.h"
#include "sessions/runner.h"

namespace hybridscope {

class LivePlayer {
 public:
  struct Options {
    std::size_t max_snapshots = 32;  // from 3; the start is always one of them
    std::int64_t spacing = 16;       // steps between two snapshots when going forward
    CheckScope scope = CheckScope::step;
  };

  // Stands before the first step. Error: what Runner::create and StepChecker::create refuse.
  static Result<std::unique_ptr<LivePlayer>> create(RunPlan plan, Options options);
  LivePlayer(const LivePlayer&) = delete;
  LivePlayer& operator=(const LivePlayer&) = delete;

  // There is no step behind this one: the run is over, or this step found that it makes no progress
  // any more.
  bool done() const { return live_.runner.done() || is_stuck(); }

  // Goes on by one step. Errors: not_found, it is done; those of Runner::step, after which the only
  // ways are back.
  Status step();
  // Error not_found: this is the first step.
  Status step_back();
  // Error not_found: no such step (steps in which nothing happens are left out); the player stays
  // where it is.
  Status go_to(std::int64_t step);

  // Of the step it is at: valid until the next move. Requires: number() > 0.
  const StepTrace& trace() const;
  std::span<const Finding> findings() const { return findings_; }

  std::int64_t number() const { return number_of(position_); }  // 0: before the first step
  const Runner& runner() const { return live_.runner; }
  const StepChecker& checker() const { return live_.checker; }

  std::size_t num_snapshots() const { return snapshots_.size(); }
  std::int64_t num_steps_run() const { return num_steps_run_; }  // again and again included

 private:
  // Before step number `position` + 1 of those that are run.
  struct Stand {
    Runner runner;
    StepChecker checker;
    std::int64_t position = 0;
    Stand clone() const { return {runner.clone(), checker, position}; }
  };

  LivePlayer(Stand start, Options options);
  std::int64_t number_of(std::int64_t position) const;
  bool is_stuck() const;
  Status run_next();
  Status move_to(std::int64_t position);
  void keep_snapshot();
  void thin_snapshots();

  Options options_;
  Stand live_;
  std::int64_t position_ = 0;          // steps run to get here
  std::vector<std::int64_t> numbers_;  // [steps ever reached] their numbers
  std::vector<Stand> snapshots_;       // ascending positions
  const StepTrace* trace_ = nullptr;   // live_'s
  std::span<const Finding> findings_;  // live_'s
  std::optional<Error> refused_;       // by live_'s runner, which is good for nothing then
  std::int64_t num_steps_run_ = 0;
};

}  // namespace hybridscope
