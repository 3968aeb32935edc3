// hybridscope plan without traffic: what a model and its settings hold.
#pragma once

#include "cli/plan_options.h"

namespace hybridscope {

int plan_sizes(const PlanCommandOptions& options);

}  // namespace hybridscope
