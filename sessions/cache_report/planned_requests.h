// Finds the requests of a plan by the ids that an engine gave them.
#pragma once

#include <functional>
#include <string>

#include "sessions/cache_report/cache_report.h"
#include "sessions/run/run_plan.h"

namespace hybridscope {

// `name_of` is the engine's. `plan` must outlive the returned function, which throws
// ContractViolation for a request that is not in the plan.
CacheReport::RequestOf planned_requests(const RunPlan& plan,
                                        std::function<std::string(RequestId)> name_of);

// Index into plan.requests; -1: not found.
std::ptrdiff_t find_planned(const RunPlan& plan, const std::string& name);

}  // namespace hybridscope
