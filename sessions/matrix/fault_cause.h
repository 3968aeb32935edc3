// What causes a fault, as text: known bugs and single policies, joined by '+'.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/scenario/known_bug_table.h"

namespace hybridscope {

// "id" or "id+id".
std::string name_of_bugs(std::span<const KnownBug* const> bugs);

// Those of `bugs` that are made of these values, then the values of none of them:
// "gdn-gates-not-gathered+row_order=query_len".
std::string name_of_policies(const PolicyOverrides& policies,
                             std::span<const KnownBug* const> bugs);

// The policy values of a cause. Errors: invalid_input, there is no such bug, policy or value.
Result<PolicyOverrides> policies_of_cause(std::string_view cause);

}  // namespace hybridscope
