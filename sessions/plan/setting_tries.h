// A plan run again with each value of some settings alone: which of them would have served a
// request more from the prefix cache, and what that costs everyone (docs/explain-cache.md,
// Settings).
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
#include "sessions/plan/sweep.h"
#include "sessions/run/run_plan.h"

namespace hybridscope {

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
