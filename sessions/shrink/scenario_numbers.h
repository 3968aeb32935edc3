// The numbers of a scenario that may be smaller, one after the other, each with the least it can
// be.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sessions/scenario/scenario.h"

namespace hybridscope {

struct ScenarioNumber {
  std::int64_t value = 0;
  std::int64_t least = 0;  // below `value`
  // The scenario with another value there. What has to follow (a prompt below what it shares,
  // counts above K + 1) is cut with it.
  std::function<Scenario(const Scenario&, std::int64_t)> set;
};

// In this order: of each request its prompt, shared tokens and output tokens; the steps at which
// something happens, each with everything behind it, then alone; arrival, salt and priority; counts
// and budgets of the script; integers among the settings, but not the seed. A number that is at its
// least is left out.
std::vector<ScenarioNumber> scenario_numbers(const Scenario& scenario);

}  // namespace hybridscope
