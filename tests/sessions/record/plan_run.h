// Plans for tests, and what a run of one decided, step by step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sessions/record/step_digests.h"
#include "sessions/run/run_plan.h"

namespace hybridscope::test {

RunPlan plan_of_text(const std::string& scenario);
RunPlan plan_of_file(const std::string& path);
std::vector<std::string> shipped_scenarios();  // paths, sorted

struct DigestedStep {
  std::int64_t step = 0;
  StepDigests digests;
  friend bool operator==(const DigestedStep&, const DigestedStep&) = default;
};

// Runs under the checker until the end, or `max_steps` steps.
std::vector<DigestedStep> digests_of(RunPlan plan, std::size_t max_steps = 2000);

}  // namespace hybridscope::test
