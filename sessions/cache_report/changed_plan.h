// Copies of a plan with one thing changed, to see what the prefix cache would have served.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/base/result.h"
#include "sessions/cache_report/cache_report.h"
#include "sessions/run/run_plan.h"

namespace hybridscope {

// Error of all functions: invalid_input when the change is not possible.

// The request's prompt begins with `num_tokens` tokens of the other request's sequence (prompt,
// then output). It keeps its length, or becomes one token longer than the shared part.
Result<RunPlan> with_shared_tokens(const RunPlan& plan, const std::string& request,
                                   const std::string& other, std::int32_t num_tokens);

// Adds tokens at the end of the request's prompt that no other request has.
Result<RunPlan> with_longer_prompt(const RunPlan& plan, const std::string& request,
                                   std::int32_t num_more_tokens);

// The request joins no earlier than at this step.
Result<RunPlan> with_later_request(const RunPlan& plan, const std::string& request,
                                   std::int64_t at_step);

// K = 0; drafts and accepted tokens are removed from the script.
Result<RunPlan> without_drafts(const RunPlan& plan);

// Finds the requests of a plan by the ids that an engine gave them.

// `name_of` is the engine's. `plan` must outlive the returned function, which throws
// ContractViolation for a request that is not in the plan.
CacheReport::RequestOf planned_requests(const RunPlan& plan,
                                        std::function<std::string(RequestId)> name_of);

// Index into plan.requests; -1: not found.
std::ptrdiff_t find_planned(const RunPlan& plan, const std::string& name);

}  // namespace hybridscope
