// The numbers of a scenario that could be smaller, each with its least value.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sessions/scenario/scenario.h"

namespace hybridscope {

struct ScenarioNumber {
  std::int64_t value = 0;
  std::int64_t least = 0;  // below `value`
  // Returns the scenario with another value. Dependent numbers are lowered too (a prompt's shared
  // tokens, counts above K + 1).
  std::function<Scenario(const Scenario&, std::int64_t)> set;
};

// In this order: each request's prompt, shared tokens and output tokens; the steps at which
// something happens, first moved together with all later ones, then alone; arrival, salt and
// priority; the script's counts and budgets; integer settings except the seed. Numbers at their
// least value are left out.
std::vector<ScenarioNumber> scenario_numbers(const Scenario& scenario);

}  // namespace hybridscope
