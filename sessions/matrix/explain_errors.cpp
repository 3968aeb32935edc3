#include "sessions/matrix/explain_errors.h"

#include <algorithm>
#include <utility>

#include "sessions/explain/finding_roots.h"
#include "sessions/known_bugs/finding_cause.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"
#include "sessions/run/run_plan.h"

namespace hybridscope {
namespace {

FindingKind kind_of(const Finding& finding) { return {finding.rule, std::string(finding.detail)}; }

struct Chains {
  std::vector<Finding> beginnings;  // the first kMaxExplainedChains
  std::set<FindingKind> kinds;      // of all findings of severity error
};

Chains chains_of(const RunPlan& plan) {
  Chains chains;
  auto created = CheckedRun::create(plan, {.max_steps = kMaxMatrixSteps});
  if (!created.ok()) return chains;
  CheckedRun& run = created.value();
  FindingRoots roots;
  const auto driven = drive(run, [&](const CheckedStep& step) {
    for (const Finding& finding : step.findings) {
      if (rule_info(finding.rule).severity != Severity::error) continue;
      chains.kinds.insert(kind_of(finding));
      roots.add(finding);
    }
  });
  if (!driven.ok()) return chains;
  for (const FindingRoot& root : roots.roots())
    if (chains.beginnings.size() < kMaxExplainedChains) chains.beginnings.push_back(root.finding);
  return chains;
}

}  // namespace

Explanation explain_errors(const MatrixCell& cell, const CellRunOptions& options,
                           std::int64_t index, const std::set<FindingKind>& errors) {
  Explanation explanation;
  const auto plan = plan_scenario(scenario_of_cell(cell, index, options), "matrix");
  if (!plan.ok()) {
    explanation.unexplained.assign(errors.begin(), errors.end());
    return explanation;
  }
  const Chains chains = chains_of(plan.value());
  const auto add_unexplained = [&](const FindingKind& kind) {
    if (std::ranges::count(explanation.unexplained, kind) == 0)
      explanation.unexplained.push_back(kind);
  };
  for (const FindingKind& kind : errors)
    if (!chains.kinds.contains(kind)) add_unexplained(kind);
  const auto causes = find_causes(plan.value(), chains.beginnings);
  for (std::size_t i = 0; i < causes.size(); ++i) {
    const FindingKind kind = kind_of(chains.beginnings[i]);
    if (!causes[i].is_known()) {
      add_unexplained(kind);
    } else if (std::ranges::count(explanation.causes, causes[i].key, &Explanation::Cause::cause) ==
               0) {
      explanation.causes.push_back({causes[i].key, kind});
    }
  }
  return explanation;
}

}  // namespace hybridscope
