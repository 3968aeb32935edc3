// Runs the combinations of a sweep on several threads: all of them or, with a budget, those that a
// search finds worth running (docs/plan.md, Budget).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/plan/plan_figures.h"
#include "sessions/plan/plan_goals.h"
#include "sessions/plan/plan_run.h"
#include "sessions/plan/sweep.h"
#include "sessions/run/run_plan.h"

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

// A plan run again with each value of some settings alone: which of them would have served a
// request more from the prefix cache, and what that costs everyone (docs/traffic.md,
// Which setting would have helped).

struct SettingTry {
  std::string name = {};     // "max_num_seqs=64"
  std::string refused = {};  // why it was not run; empty: it was
  PlanFigures figures = {};
  std::map<std::string, std::int32_t, std::less<>> hits = {};  // of first admissions, by name
};

// A setting with which a request hits more.
struct HelpfulSetting {
  std::string name;
  std::int32_t num_hit_tokens = 0;
  std::string price;  // hit tokens and steps, then figure_differences from the run as given
};

class SettingTries {
 public:
  // Runs the plan as given, then with each value of each axis in place of its own. `go_on` is asked
  // now and then; false: the rest is left out, and complete() is false. Error: the plan as given
  // cannot be run.
  static Result<SettingTries> run(const RunPlan& plan, std::span<const SweepAxis> axes,
                                  const std::function<bool()>& go_on);

  bool complete() const { return complete_; }
  const std::vector<SettingTry>& tries() const { return tries_; }

  // Settings with which the first admission of the request hits more than as given: the longest hit
  // first, of equal ones in the order of the axes.
  std::vector<HelpfulSetting> that_help(std::string_view request) const;

 private:
  SettingTry as_given_;
  std::vector<SettingTry> tries_;
  bool complete_ = true;
};

}  // namespace hybridscope
