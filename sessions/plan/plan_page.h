// A plan as one self-contained HTML file that opens offline: what is recommended and why, the front
// as a scatter, memory and hits over time of one combination, and all figures in a table
// (docs/plan.md, The page).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sessions/plan/plan_goals.h"
#include "sessions/plan/plan_json.h"
#include "sessions/plan/sweep.h"

namespace hybridscope {

struct PlanPage {
  const PlanHeader& header;
  const Sweep& sweep;
  std::span<const PlanResult> results;  // in the order of the sweep
  std::span<const PlanGoal* const> goals;
  const PlanChoice& choice;
  std::int64_t num_requests = 0;               // of the traffic, 0: not known
  std::vector<std::string> more_reasons = {};  // behind those of plan_reasons
};

// All results together have at most so many pieces in the page: with more, pieces that follow each
// other are added up, equally many in each result that ran.
inline constexpr std::int64_t kMostPagePoints = 100'000;

std::string plan_as_html(const PlanPage& page);

}  // namespace hybridscope
