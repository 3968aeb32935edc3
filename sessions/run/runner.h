// Drives an engine through a plan: requests join when they are due, which for some is after others
// have ended, the script's commands precede their step, and time jumps ahead when the engine is
// idle.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/engine/engine.h"
#include "sessions/run/run_plan.h"
#include "sessions/scenario/scenario_requests.h"

namespace hybridscope {

// Requests that join after others have ended: who waits for whom, and who may join when.

// A request that may join from a step and a time on.
struct DueRequest {
  std::int32_t at_step = 1;
  std::int64_t due_us = 0;
  std::size_t index = 0;  // in the plan
  friend auto operator<=>(const DueRequest&, const DueRequest&) = default;
};

// Copies share what never changes.
class WaitingRequests {
 public:
  // Nobody waits.
  WaitingRequests() = default;

  // Error invalid_input with the pointer of the request ("/requests/1/after: ..."): a name that no
  // request has, or requests that wait for each other.
  static Result<WaitingRequests> create(std::span<const ArrivingRequest> requests);

  // Does the request wait for others, or has it waited?
  bool waits(std::size_t index) const { return links_ && links_->num_awaited[index] > 0; }
  // The request has ended, which is told once.
  void take_end(std::size_t index, std::int64_t time_us);
  // The requests that wait for nobody any more and have not joined, in the order in which they may
  // join.
  const std::set<DueRequest>& ready() const { return ready_; }
  // The request has joined. Requires: it is ready.
  void take_join(std::size_t index);

 private:
  struct Links {
    std::vector<std::int32_t> num_awaited;          // [requests]
    std::vector<std::vector<std::size_t>> waiting;  // [requests] who waits for it
    std::vector<DueRequest> earliest;               // [requests] without regard to the others
    std::vector<std::int64_t> delay_us;             // [requests]
  };
  struct Progress {
    std::int32_t num_left = 0;     // of those that it waits for
    std::int64_t last_end_us = 0;  // of those that have ended
  };
  DueRequest due(std::size_t index) const;

  std::shared_ptr<const Links> links_;  // null: nobody waits
  std::vector<Progress> progress_;      // [requests]
  std::set<DueRequest> ready_;
};

// fold_prompt of each request of a plan; null: each run folds them itself.
using FoldedPrompts = std::shared_ptr<const std::vector<PrefixFingerprints>>;

class Runner {
 public:
  // `folded`: of the plan's requests, with prompt_folding of its configuration. Error: what
  // Engine::create refuses, or requests that wait for what never ends (WaitingRequests::create).
  static Result<Runner> create(RunPlan plan, FoldedPrompts folded = nullptr);

  // A copy is independent and in the same state; both continue identically and share the plan.
  Runner(const Runner&) = default;
  Runner(Runner&&) = default;
  Runner& operator=(Runner&&) = default;

  // Continues with another plan, whose requests the engine folds itself. Requires: it is equal for
  // the steps that were run.
  void follow(std::shared_ptr<const RunPlan> plan);

  // Has everything in the plan joined, been commanded and finished?
  bool done() const;

  // Runs the next step. Error: the engine refuses a request or command.
  Result<const StepTrace*> step();

  const Engine& engine() const { return engine_; }
  const RunPlan& plan() const { return *plan_; }

 private:
  Runner(std::shared_ptr<const RunPlan> plan, Engine engine, WaitingRequests waiting);
  bool is_idle() const;
  void skip_idle_steps();
  void jump_to_next_arrival();
  void skip_joined();
  void find_due_arrivals();
  void find_due_waiting();
  Status join_due_requests();
  Status join(std::size_t index);
  Status apply_script();
  void take_ends(const StepTrace& trace);

  std::shared_ptr<const RunPlan> plan_;
  FoldedPrompts folded_;
  Engine engine_;
  ScriptedPolicies policies_;
  std::map<std::string, RequestId, std::less<>> ids_;  // only for plans with a script
  WaitingRequests waiting_;
  std::vector<bool> joined_;           // [requests]
  std::vector<std::size_t> index_of_;  // [RequestId] the request's place in the plan
  std::vector<std::int64_t> ends_;     // [RequestId] when it ended, -1: it has not
  std::vector<DueRequest> due_;        // what joins before this step
  std::size_t next_request_ = 0;       // all earlier requests have joined, or wait for others
  std::size_t num_joined_ = 0;
  std::size_t next_script_ = 0;
  std::int64_t next_step_ = 1;
};

}  // namespace hybridscope
