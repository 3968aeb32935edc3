#include "tests/sessions/record/plan_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "sessions/run/check_setup.h"
#include "sessions/scenario/scenario_reader.h"

namespace hybridscope::test {

RunPlan plan_of_text(const std::string& scenario) {
  auto plan = plan_scenario(parse_scenario({scenario, "test.json"}).value(), "test.json");
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  return std::move(plan).value();
}

RunPlan plan_of_file(const std::string& path) {
  return plan_scenario(read_scenario_file(path).value(), path).value();
}

std::vector<std::string> shipped_scenarios() {
  std::vector<std::string> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios"))
    if (entry.path().extension() == ".json") paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<DigestedStep> digests_of(RunPlan plan, std::size_t max_steps) {
  Runner runner = Runner::create(std::move(plan)).value();
  StepChecker checker = StepChecker::create(make_check_config(runner.engine().config())).value();
  StepDigester digester([&](RequestId request) { return runner.engine().name_of(request); });
  std::vector<DigestedStep> steps;
  while (!runner.done() && steps.size() < max_steps) {
    const auto trace = runner.step();
    EXPECT_TRUE(trace.ok()) << trace.error().message;
    if (!trace.ok()) break;
    const auto findings = checker.check(*trace.value(), CheckScope::step);
    steps.push_back({trace.value()->step, digester.digest(*trace.value(), findings)});
  }
  return steps;
}

}  // namespace hybridscope::test
