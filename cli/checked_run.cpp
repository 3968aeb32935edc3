#include "cli/checked_run.h"

#include <fmt/format.h>

#include <utility>

#include "sessions/check_setup.h"

namespace hybridscope {

Result<std::unique_ptr<CheckedRun>> CheckedRun::create(RunPlan plan, CheckScope scope) {
  auto runner = Runner::create(std::move(plan));
  if (!runner.ok()) return runner.error();
  auto checker = StepChecker::create(make_check_config(runner.value().engine().config()));
  if (!checker.ok()) return checker.error();
  return std::make_unique<CheckedRun>(std::move(runner).value(), std::move(checker).value(), scope);
}

CheckedRun::CheckedRun(Runner runner, StepChecker checker, CheckScope scope)
    : runner_(std::move(runner)),
      checker_(std::move(checker)),
      scope_(scope),
      names_(make_names(runner_.engine().config().kv_cache_config,
                        [this](RequestId id) { return runner_.engine().name_of(id); })),
      summary_(runner_.engine().config()),
      expectation_(runner_.plan().expect) {
  names_.mamba_cache_mode = runner_.engine().config().mamba_cache_mode;
}

Result<CheckedStep> CheckedRun::step() {
  const auto trace = runner_.step();
  if (!trace.ok()) return trace.error();
  const std::span<const Finding> findings = checker_.check(*trace.value(), scope_);
  summary_.add(*trace.value());
  for (const Finding& finding : findings) {
    cannot_progress_ = cannot_progress_ || finding.rule == Rule::no_progress;
    report_.findings.add(finding, expectation_.expects(finding, names_), names_);
  }
  return CheckedStep{.trace = trace.value(), .findings = findings};
}

std::string CheckedRun::why_stopped(const RunEnd& end) const {
  if (!end.refused.empty()) return end.refused;
  if (done()) return {};
  if (end.interrupted) return fmt::format("interrupted after {} steps", summary().steps);
  if (end.unrecorded) return "it could not be recorded";
  if (cannot_progress_) return "it cannot progress";
  if (!end.broken.empty()) return end.broken;
  return fmt::format("stopped after {} steps, as asked; expectations were not checked",
                     summary().steps);
}

RunReport CheckedRun::finish(const RunEnd& end) {
  report_.summary = summary();
  report_.stopped = why_stopped(end);
  if (over()) report_.unmet = expectation_.unmet(report_.summary);
  if (end.timings)
    report_.wall_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  return std::move(report_);
}

}  // namespace hybridscope
