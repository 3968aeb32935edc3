// Drives an engine through a plan: requests join when they are due, which for some is after others
// have ended, the script's commands precede their step, and time jumps ahead when the engine is
// idle.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/engine/engine.h"
#include "sessions/run/run_plan.h"
#include "sessions/run/waiting_requests.h"
#include "sessions/scenario/scripted_policies.h"

namespace hybridscope {

// fold_prompt of each request of a plan; null: each run folds them itself.
using FoldedPrompts = std::shared_ptr<const std::vector<PrefixFingerprints>>;

class Runner {
 public:
  // `folded`: of the plan's requests, with prompt_folding of its configuration. Error: what
  // Engine::create refuses, or requests that wait for what never ends (WaitingRequests::create).
  static Result<Runner> create(RunPlan plan, FoldedPrompts folded = nullptr);

  // An independent copy in the current state; both continue identically and share the plan.
  Runner clone() const;

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
