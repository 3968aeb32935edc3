// Random scenarios of the matrix under releases: what a finding is put down to removes it.
// HYBRIDSCOPE_TIMES=100 runs 6,000.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "sessions/explain/finding_roots.h"
#include "sessions/known_bugs/finding_cause.h"
#include "sessions/matrix/matrix_cell.h"
#include "sessions/matrix/run_cell.h"
#include "sessions/run/checked_run.h"
#include "tests/support/property.h"

namespace hybridscope::cause_property_test {
namespace {

constexpr std::size_t kScenarios = 60;

// The findings of severity error up to a step.
std::vector<Finding> findings_of(const RunPlan& plan, std::int64_t last) {
  std::vector<Finding> findings;
  auto run = CheckedRun::create(plan, {.max_steps = kMaxMatrixSteps}).value();
  while (!run.has_ended()) {
    const auto step = run.step();
    if (!step.ok() || step.value().trace.step > last) break;
    for (const Finding& finding : step.value().findings)
      if (rule_info(finding.rule).severity == Severity::error) findings.push_back(finding);
  }
  return findings;
}

bool is_like(const Finding& a, const Finding& b) {
  return a.rule == b.rule && a.detail == b.detail && a.request == b.request;
}

// Of the first chain no other chain's findings can be taken for its own.
TEST(CauseProperty, TheNamedCauseSwitchedOffRemovesTheFirstFinding) {
  const std::uint64_t seed = test::from_environment("HYBRIDSCOPE_SEED", 20261128);
  SCOPED_TRACE("HYBRIDSCOPE_SEED=" + std::to_string(seed));
  const std::vector<MatrixCell> cells = all_cells();
  std::mt19937_64 random(seed);
  std::size_t with_findings = 0;
  std::size_t named = 0;
  while (with_findings < test::num_cases(kScenarios)) {
    const MatrixCell& cell = cells[random() % cells.size()];
    const auto release = static_cast<Release>(random() % release_names().size());
    const auto index = static_cast<std::int64_t>(random() % 1000);
    if (stands_for(cell) || !refusal_of(cell).empty()) continue;
    const CellRunOptions options{.profile = EngineProfile::vllm(release), .seed = seed};
    const Scenario scenario = scenario_of_cell(cell, index, options);
    SCOPED_TRACE(scenario.name + " in " + std::string(release_name(release)));
    const auto plan = plan_scenario(scenario, "scenario.json");
    if (!plan.ok()) continue;  // the release does not have what the cell asks for
    const std::vector<Finding> findings = findings_of(plan.value(), kMaxMatrixSteps);
    if (findings.empty()) continue;
    ++with_findings;
    const Finding& first = findings.front();
    const FindingCause cause = find_cause(plan.value(), first);
    if (!cause.is_known()) continue;
    ++named;
    RunPlan without = plan.value();
    switch_off(cause.policies, without.settings, without.script);
    without.setup = make_engine_setup(without.setup.layout.model, without.settings).value();
    for (const Finding& left : findings_of(without, first.step))
      EXPECT_FALSE(is_like(left, first))
          << cause.words << ", but step " << left.step << " has the finding of step " << first.step;
  }
  EXPECT_EQ(named, with_findings);
}

}  // namespace
}  // namespace hybridscope::cause_property_test
