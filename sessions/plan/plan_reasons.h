// Why a plan recommends what it does, in sentences that name the numbers.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sessions/plan/plan_goals.h"
#include "sessions/plan/sweep.h"

namespace hybridscope {

struct PlanReasonsInput {
  const Sweep& sweep;
  std::span<const PlanResult> results;
  std::span<const PlanGoal* const> goals;
  const PlanChoice& choice;
  std::string model = {};  // for why a block has its size; empty: not told
};

// One sentence a line: what the recommended result reaches of each goal; for each axis what another
// value would change with everything else equal, as far as it was run; how full the pool was.
// Requires: there is a recommendation.
std::vector<std::string> plan_reasons(const PlanReasonsInput& input);

// "attention 1,204 of 4,817 blocks at most, 310.2 on average; ...": what blocks are used for.
std::string block_use_words(const PlanResult& result);

}  // namespace hybridscope
