// A plan as one self-contained HTML file that opens offline: what is recommended and why, the front
// as a scatter, memory and hits over time of one combination, and all figures in a table
// (docs/plan.md, The page).
#pragma once

#include <cstdint>
#include <string>

#include "sessions/plan/plan_story.h"

namespace hybridscope {

// All results together have at most so many pieces in the page: with more, pieces that follow each
// other are added up, equally many in each result that ran.
inline constexpr std::int64_t kMostPagePoints = 100'000;

std::string plan_as_html(const PlanView& view);

}  // namespace hybridscope
