// The figures that a table of a plan's results shows, one row per column: for the command line and
// the window (docs/plan.md, Figures).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sessions/plan/plan_figures.h"

namespace hybridscope {

struct PlanColumn {
  std::string_view name;                          // "hit %"
  std::string_view words;                         // what is counted
  bool needs_step_time = false;                   // absent where none is assumed
  bool is_count = false;                          // one whole number
  double (*value)(const PlanFigures&) = nullptr;  // orders
  std::string (*shown)(const PlanFigures&) = nullptr;
};

// In the order of the table.
std::vector<const PlanColumn*> plan_columns(bool has_step_time);

}  // namespace hybridscope
