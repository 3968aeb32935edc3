#include "sessions/matrix/checked_scenario.h"

#include <optional>
#include <span>

#include "core/check/state_twin.h"
#include "core/check/step_checker.h"
#include "sessions/run/check_setup.h"
#include "sessions/run/run_plan.h"
#include "sessions/run/runner.h"
#include "sessions/run/state_memory_plan.h"

namespace hybridscope {
namespace {

void add_errors(std::span<const Finding> findings, std::set<FindingKind>& errors,
                bool& cannot_progress) {
  for (const Finding& finding : findings) {
    cannot_progress = cannot_progress || finding.rule == Rule::no_progress;
    if (rule_info(finding.rule).severity == Severity::error)
      errors.insert({finding.rule, std::string(finding.detail)});
  }
}

Result<std::unique_ptr<StateBackend>> make_memory(const RunPlan& plan,
                                                  const MakeStateBackend& make_backend) {
  const StateMemoryLimit no_limit{.bytes = std::int64_t{1} << 62};
  auto memory = plan_state_memory(plan.setup, plan.settings, no_limit);
  if (!memory.ok()) return memory.error();
  return make_backend(std::move(memory).value());
}

}  // namespace

Result<CheckedScenario> check_scenario(const Scenario& scenario,
                                       const MakeStateBackend& make_backend) {
  auto plan = plan_scenario(scenario, "scenario");
  if (!plan.ok()) return plan.error();
  std::unique_ptr<StateBackend> backend;
  if (make_backend) {
    auto made = make_memory(plan.value(), make_backend);
    if (!made.ok()) return made.error();
    backend = std::move(made).value();
  }
  auto runner = Runner::create(std::move(plan).value());
  if (!runner.ok()) return runner.error();
  const EngineConfig& config = runner.value().engine().config();
  const CheckConfig check_config = make_check_config(config);
  auto checker = StepChecker::create(check_config);
  if (!checker.ok()) return checker.error();
  std::optional<StateTwin> twin;
  if (backend) {
    auto made = StateTwin::create(check_config, *backend);
    if (!made.ok()) return made.error();
    twin = std::move(made).value();
    checker.value().log_ops();
  }

  CheckedScenario run;
  bool cannot_progress = false;
  while (!runner.value().done() && !cannot_progress) {
    if (run.num_steps == kMaxMatrixSteps) {
      run.errors.insert({Rule::no_progress, "the run does not end"});
      break;
    }
    const auto step = runner.value().step();
    if (!step.ok()) return step.error();
    const StepTrace& trace = *step.value();
    ++run.num_steps;
    run.num_request_steps += static_cast<std::int64_t>(trace.rows.size());
    run.events.add(trace, config);
    add_errors(checker.value().check(trace), run.errors, cannot_progress);
    if (!twin) continue;
    const CheckScope scope = runner.value().done() ? CheckScope::all : CheckScope::step;
    const auto of_bytes = twin->follow(checker.value(), trace.step, scope);
    if (!of_bytes.ok()) return of_bytes.error();
    add_errors(of_bytes.value(), run.errors, cannot_progress);
  }
  return run;
}

}  // namespace hybridscope
