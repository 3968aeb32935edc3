// The policies of what causes a fault: known bugs and single policies, joined by '+', and bugs of
// which one is the cause, joined by " or " (FindingCause::key).
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "sessions/scenario/known_bug_table.h"

namespace hybridscope {

// The policy values of a cause. Errors: invalid_input, there is no such bug, policy or value.
Result<PolicyOverrides> policies_of_cause(std::string_view cause);

}  // namespace hybridscope
