// A plan with one thing changed, for asking what the prefix cache would have served then.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/base/result.h"
#include "sessions/run/run_plan.h"

namespace hybridscope {

// Errors of all: invalid_input where the change is not possible.

// The request's prompt begins with `num_tokens` tokens of the other's sequence (prompt, then
// output); it stays as long as it is, or becomes one token longer than that.
Result<RunPlan> with_shared_tokens(const RunPlan& plan, const std::string& request,
                                   const std::string& other, std::int32_t num_tokens);

// Tokens of its own at the end of its prompt.
Result<RunPlan> with_longer_prompt(const RunPlan& plan, const std::string& request,
                                   std::int32_t num_more_tokens);

// The request joins no earlier than at this step.
Result<RunPlan> with_later_request(const RunPlan& plan, const std::string& request,
                                   std::int64_t at_step);

// Other settings; what follows from them is worked out anew.
Result<RunPlan> with_settings(const RunPlan& plan,
                              const std::function<void(EngineSettings&)>& change);

// K = 0; what the script says of drafts and accepted tokens is left out.
Result<RunPlan> without_drafts(const RunPlan& plan);

}  // namespace hybridscope
