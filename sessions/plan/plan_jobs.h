// Runs the combinations of a sweep on several threads: all of them or, with a budget, those that a
// search finds worth running (docs/plan.md, Budget).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/plan/plan_goals.h"
#include "sessions/plan/plan_run.h"

namespace hybridscope {

struct PlanProgress {
  std::int64_t done = 0;
  std::int64_t all = 0;      // that this call runs; with a budget at most so many
  std::int64_t earlier = 0;  // results that were there before
};

struct PlanSearchOptions {
  PlanRunOptions run = {};  // go_on may be called by several threads at once
  std::int32_t num_threads = 1;
  // Combinations that are run to their end, earlier results included; 0: all.
  std::int64_t budget = 0;
  std::vector<const PlanGoal*> goals = {};  // of the search
  // Is a combination of this name run here? Empty: all are. Without a budget only.
  std::function<bool(std::string_view)> selects = {};
  // Called by one thread at a time; may be empty.
  std::function<void(const PlanProgress&)> progress = {};
  // Gets each new result; one call at a time.
  std::function<Status(const PlanResult&)> take = {};
};

struct PlanOutcome {
  std::vector<PlanResult> results;  // in the order of the sweep, earlier ones included
  bool interrupted = false;         // go_on ended it
};

// The result depends neither on the number of threads nor on what was there before. `earlier`:
// results by name, which are not run again. With a budget, the search runs the first combination,
// then for one axis after the other all its values with the best combination so far, until nothing
// changes; what is left of the budget goes to combinations near the best one. Errors: those of
// run_plan_case and take.
Result<PlanOutcome> run_plan(const Sweep& sweep, PlanTraffic& traffic,
                             const std::map<std::string, PlanResult>& earlier,
                             const PlanSearchOptions& options);

}  // namespace hybridscope
