// Judged traces as tested units.
#pragma once

#include <vector>

#include "cli/judge_command.h"
#include "cli/judge_report.h"
#include "cli/tested_unit.h"

namespace hybridscope {

// One a trace; one more, named after the input, when judging broke off or found no trace.
std::vector<TestedUnit> tested_traces(const JudgeOptions& options, const JudgeReport& report);

}  // namespace hybridscope
