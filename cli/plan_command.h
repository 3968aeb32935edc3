// hybridscope plan: what a model and its settings hold, and which settings for its traffic.
#pragma once

#include "cli/cli_fwd.h"
#include "cli/plan_question.h"

namespace hybridscope {

void add_plan_options(CLI::App& command, PlanCommandOptions& options);
int plan_command(const PlanCommandOptions& options);

}  // namespace hybridscope
