// What hybridscope plan prints of a sweep: a table, the recommendation with its reasons, JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "sessions/plan/plan_goals.h"
#include "sessions/plan/plan_json.h"
#include "sessions/plan/sweep.h"

namespace hybridscope {

// What would be recommended under another step time.
struct PlanSensitivity {
  std::string words;        // "if steps take half as long"
  std::string recommended;  // name of a combination, empty: not all of them were run
};

struct PlanView {
  const PlanHeader& header;
  const Sweep& sweep;
  std::span<const PlanResult> results;  // in the order of the sweep
  std::span<const PlanGoal* const> goals;
  const PlanChoice& choice;
  std::int64_t num_requests = 0;  // of the traffic, 0: not known
  std::span<const PlanSensitivity> sensitivity = {};
};

// "24 of 24 combinations, ...".
std::string format_plan_heading(const PlanView& view);
// The front first, the recommended one on top, then the others; at most `most_rows`.
std::string format_plan_table(const PlanView& view, std::int64_t most_rows);
std::string format_plan_reasons(const PlanView& view);
// "if steps take half as long: the same". Requires: there is a recommendation.
std::vector<std::string> sensitivity_lines(const PlanView& view);

// {"plan": header, "goals": [...], "recommended": name, "front": [names], "reasons": [...],
// "results": [...]}.
nlohmann::ordered_json plan_to_json(const PlanView& view);

}  // namespace hybridscope
