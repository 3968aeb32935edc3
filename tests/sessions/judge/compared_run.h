// Runs of our own engine as traces, and traces through the comparison with our engine.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/policy_set.h"
#include "core/engine/engine.h"
#include "sessions/scenario/engine_profile.h"

namespace hybridscope::test {

// [header, step 1, ...] of all requests, added before the first step, until none is left.
// `before_step` may give the engine commands.
std::vector<nlohmann::json> traced_run(const EngineConfig& config,
                                       const std::vector<AddRequest>& requests,
                                       const std::function<void(Engine&)>& before_step = {});

// format_difference() of the first difference, empty for none; or the message of an error.
std::string first_difference(const std::vector<std::string>& lines, const PolicySet& policies);
std::string first_difference(const std::vector<nlohmann::json>& lines, const PolicySet& policies);
// With the policies that `judge --engine` compares with.
std::string first_difference(const std::vector<nlohmann::json>& lines,
                             const EngineProfile& profile);

}  // namespace hybridscope::test
