#include "sessions/known_bugs/bug_run.h"

#include <fmt/format.h>

#include <utility>

#include "core/check/step_checker.h"
#include "core/trace/block_table_mirror.h"
#include "sessions/explain/explain_names.h"
#include "sessions/explain/explain_step.h"
#include "sessions/run/check_setup.h"
#include "sessions/run/expectation_check.h"
#include "sessions/run/runner.h"

namespace hybridscope {
namespace {

Result<BugSide> run_side(Scenario scenario) {
  auto plan = plan_scenario(scenario, scenario.name);
  if (!plan.ok()) return plan.error();
  auto runner = Runner::create(std::move(plan).value());
  if (!runner.ok()) return runner.error();
  const Engine& engine = runner.value().engine();
  auto checker = StepChecker::create(make_check_config(engine.config()));
  if (!checker.ok()) return checker.error();
  const Names names = make_names(engine);
  SummaryBuilder summary(engine.config());
  ExpectationCheck expectation(scenario.expect);
  const KVCacheConfig& cache = engine.config().kv_cache_config;
  BlockTableMirror tables(static_cast<std::int32_t>(cache.groups.size()), cache.num_blocks);
  BugSide side{.scenario = std::move(scenario)};
  for (bool stuck = false; !stuck && !runner.value().done();) {
    const auto step = runner.value().step();
    if (!step.ok()) return step.error();
    const StepTrace& trace = *step.value();
    summary.add(trace);
    const std::span<const Finding> findings = checker.value().check(trace, CheckScope::step);
    bool wrong = false;
    for (const Finding& finding : findings) {
      side.findings.add(finding, expectation.expects(finding, names), names);
      wrong = wrong || rule_info(finding.rule).severity == Severity::error;
      stuck = stuck || finding.rule == Rule::no_progress;
    }
    for (const CacheEvent& event : trace.cache_events) tables.apply(event);
    if (wrong && side.first_step == 0) {
      side.first_step = trace.step;
      side.explanation = explain_step({.trace = trace,
                                       .config = engine.config(),
                                       .names = names,
                                       .scheduler_tables = tables,
                                       .findings = findings});
    }
    for (const CacheEvent& event : trace.commit_events) tables.apply(event);
  }
  side.summary = summary.summary();
  side.unmet = expectation.unmet(side.summary);
  return side;
}

}  // namespace

bool BugSide::as_declared() const {
  return unmet.empty() && findings.num_unexpected(Severity::error) == 0 &&
         findings.num_unexpected(Severity::warning) == 0;
}

Result<BugRun> run_bug(const BugExhibit& exhibit) {
  auto faulty = run_side(faulty_scenario(exhibit));
  if (!faulty.ok()) return faulty.error();
  auto healthy = run_side(healthy_scenario(exhibit));
  if (!healthy.ok()) return healthy.error();
  return BugRun{std::move(faulty).value(), std::move(healthy).value()};
}

}  // namespace hybridscope
