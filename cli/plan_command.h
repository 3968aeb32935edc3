// hybridscope plan: which settings for this model, this memory, this traffic.
#pragma once

#include "cli/cli_fwd.h"
#include "cli/plan_job.h"

namespace hybridscope {

void add_plan_options(CLI::App& command, PlanCommandOptions& options);
int plan_command(const PlanCommandOptions& options);

}  // namespace hybridscope
