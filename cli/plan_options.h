// The options of hybridscope plan.
#pragma once

#include <string_view>

#include "cli/cli_fwd.h"
#include "cli/output_targets.h"
#include "cli/plan_question.h"

namespace hybridscope {

// `options` must outlive the parsing.
void add_plan_options(CLI::App& command, PlanCommandOptions& options);

// What it reads and writes.
CommandFiles files_of(const PlanCommandOptions& options);

// An option that was given and means nothing for result files; empty: none.
std::string_view option_not_for_merge(const PlanCommandOptions& options);
// An option that was given and means nothing without traffic; empty: none.
std::string_view option_for_traffic(const PlanCommandOptions& options);

}  // namespace hybridscope
