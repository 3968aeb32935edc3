// What hybridscope plan prints of a sweep: a table, the recommendation with its reasons, JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sessions/plan/plan_story.h"

namespace hybridscope {

// Heading, table and reasons.
std::string format_plan(const PlanView& view, std::int64_t most_rows);
// The front first, the recommended one on top, then the others; at most `most_rows`.
std::string format_plan_table(const PlanView& view, std::int64_t most_rows);
std::string format_plan_reasons(const PlanView& view);

// {"plan": header, "goals": [...], "recommended": name, "front": [names], "reasons": [...],
// "results": [...]}.
nlohmann::ordered_json plan_to_json(const PlanView& view);

}  // namespace hybridscope
