#include "sessions/matrix/cell_result.h"

#include <algorithm>

#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"
#include "sessions/run/run_plan.h"
#include "sessions/run/state_memory_plan.h"

namespace hybridscope {
namespace {

Result<std::unique_ptr<StateBackend>> make_memory(const RunPlan& plan,
                                                  const MakeStateBackend& make_backend) {
  const StateMemoryLimit no_limit{.bytes = std::int64_t{1} << 62};
  auto memory = plan_state_memory(plan.setup, plan.settings, no_limit);
  if (!memory.ok()) return memory.error();
  return make_backend(std::move(memory).value());
}

}  // namespace

Result<CheckedScenario> check_scenario(const Scenario& scenario,
                                       const CheckScenarioOptions& options) {
  auto plan = plan_scenario(scenario, "scenario");
  if (!plan.ok()) return plan.error();
  CheckedRunOptions run_options{.max_steps = kMaxMatrixSteps};
  if (options.make_backend) {
    auto made = make_memory(plan.value(), options.make_backend);
    if (!made.ok()) return made.error();
    run_options.state = std::move(made).value();
  }
  auto created = CheckedRun::create(std::move(plan).value(), std::move(run_options));
  if (!created.ok()) return created.error();
  CheckedRun& run = created.value();

  CheckedScenario checked;
  const auto all_seen = [&] {
    return !options.until.empty() && std::ranges::includes(checked.errors, options.until);
  };
  const auto add = [&](const CheckedStep& step) {
    checked.num_request_steps += static_cast<std::int64_t>(step.trace.rows.size());
    checked.events.add(step.trace, run.engine().config());
    for (const Finding& finding : step.findings)
      if (rule_info(finding.rule).severity == Severity::error)
        checked.errors.insert({finding.rule, std::string(finding.detail)});
  };
  if (const auto driven = drive(run, add, all_seen); !driven.ok()) return driven.error();
  checked.num_steps = run.num_steps();
  if (run.end() == EndReason::step_limit)
    checked.errors.insert({Rule::no_progress, "the run does not end"});
  return checked;
}

}  // namespace hybridscope
