// Every shipped scenario with its state in bytes on the CPU: it fits into 256 MB, no step is larger
// than the largest one its configuration allows, and every element is what symbolic state says,
// also where the reference's policies leave wrong states behind.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "core/check/state_mirror.h"
#include "kernels/cpu/cpu_state_backend.h"
#include "sessions/explain/explain_finding.h"
#include "sessions/run/runner.h"
#include "sessions/run/state_memory_plan.h"
#include "sessions/run/step_judge.h"
#include "sessions/scenario/scenario_reader.h"

namespace hybridscope::shipped_in_bytes_test {
namespace {

const StateMemoryLimit kLimit{.bytes = 256'000'000};
constexpr std::int64_t kMaxSteps = 200;

std::vector<std::string> shipped_scenarios() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios"))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

RunPlan plan_of(const std::string& name, EngineProfile profile) {
  const std::string file = std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/" + name + ".json";
  Scenario scenario = read_scenario_file(file).value();
  scenario.settings.engine = profile;
  return plan_scenario(scenario, file).value();
}

// The checker executed step `step`.
void expect_bytes_as_checked(StateMirror& mirror, const StepChecker& checker, std::int64_t step,
                             CheckScope scope) {
  const std::span<const Finding> findings = mirror.follow(checker, step, scope).value();
  for (const Finding& finding : findings)
    ADD_FAILURE() << explain_finding(finding, numbered_names());
}

class ShippedInBytes : public testing::TestWithParam<std::tuple<std::string, EngineProfile>> {};

TEST_P(ShippedInBytes, EveryElementIsWhatSymbolicStateSays) {
  const auto [name, profile] = GetParam();
  const RunPlan plan = plan_of(name, profile);
  const auto memory = plan_state_memory(plan.setup, plan.settings, kLimit);
  ASSERT_TRUE(memory.ok()) << memory.error().message;
  EXPECT_LE(memory.value().total_bytes(), 256'000'000);
  const StepSize largest = largest_step(memory.value(), step_limits(plan.setup));
  const auto backend = CpuStateBackend::create(memory.value()).value();
  const CheckConfig config = make_check_config(plan.setup.config);
  StepChecker checker = StepChecker::create(config).value();
  StateMirror mirror = StateMirror::create(config, *backend).value();
  checker.log_ops();
  Runner runner = Runner::create(plan).value();
  std::int64_t steps = 0;
  for (; steps < kMaxSteps && !runner.done(); ++steps) {
    const StepTrace& trace = *runner.step().value();
    for (const Finding& finding : checker.check(trace))
      if (profile == EngineProfile::safe && rule_info(finding.rule).severity == Severity::error)
        ADD_FAILURE() << explain_finding(finding, numbered_names());
    EXPECT_TRUE(largest.holds(size_of(checker.ops()))) << "step " << trace.step;
    expect_bytes_as_checked(mirror, checker, trace.step, CheckScope::step);
  }
  StepTrace nothing;
  nothing.step = steps + 1;
  (void)checker.check(nothing);
  expect_bytes_as_checked(mirror, checker, nothing.step, CheckScope::all);
  EXPECT_GT(mirror.num_elements_verified(), 0);
}

INSTANTIATE_TEST_SUITE_P(Scenarios, ShippedInBytes,
                         testing::Combine(testing::ValuesIn(shipped_scenarios()),
                                          testing::Values(EngineProfile::safe,
                                                          EngineProfile::reference)),
                         [](const auto& run) {
                           return std::get<0>(run.param) +
                                  (std::get<1>(run.param) == EngineProfile::safe ? "_safe"
                                                                                 : "_pages");
                         });

}  // namespace
}  // namespace hybridscope::shipped_in_bytes_test
