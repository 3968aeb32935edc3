// Plans for tests, and what a run of one decided, step by step.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "sessions/record/step_digests.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/run_plan.h"
#include "sessions/scenario/scenario_reader.h"

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

inline RunPlan plan_of_text(const std::string& scenario) {
  auto plan = plan_scenario(parse_scenario({scenario, "test.json"}).value(), "test.json");
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  return std::move(plan).value();
}

inline RunPlan plan_of_file(const std::string& path) {
  return plan_scenario(read_scenario_file(path).value(), path).value();
}

inline std::vector<std::string> shipped_scenarios() {
  std::vector<std::string> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios"))
    if (entry.path().extension() == ".json") paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

inline std::vector<DigestedStep> digests_of(RunPlan plan, std::size_t max_steps) {
  CheckedRun run = CheckedRun::create(std::move(plan)).value();
  StepDigester digester([&](RequestId request) { return run.engine().name_of(request); });
  std::vector<DigestedStep> steps;
  while (!run.has_ended() && steps.size() < max_steps) {
    const auto step = run.step();
    EXPECT_TRUE(step.ok()) << step.error().message;
    if (!step.ok()) break;
    const CheckedStep& checked = step.value();
    steps.push_back({checked.trace.step, digester.digest(checked.trace, checked.findings)});
  }
  return steps;
}

}  // namespace hybridscope::test
