#include "cli/checked_run.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "sessions/run/check_setup.h"

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
      names_(make_names(runner_.engine())),
      summary_(runner_.engine().config()),
      expectation_(runner_.plan().expect) {}

Status CheckedRun::keep_state_in(StateBytes bytes) {
  auto twin = StateTwin::create(make_check_config(engine().config()), *bytes.backend);
  if (!twin.ok()) return twin.error();
  twin_ = std::move(twin).value();
  state_ = std::move(bytes.backend);
  report_.state = std::move(bytes.held);
  checker_.log_ops();
  return Ok{};
}

// The step's findings, those of the bytes behind the others. Behind the last step all bytes are
// looked at, also those that no step should have written.
Result<std::span<const Finding>> CheckedRun::check(const StepTrace& trace) {
  const std::span<const Finding> findings = checker_.check(trace, scope_);
  if (!twin_) return findings;
  const auto of_bytes = twin_->follow(checker_, trace.step, done() ? CheckScope::all : scope_);
  if (!of_bytes.ok()) return of_bytes.error();
  findings_.assign(findings.begin(), findings.end());
  findings_.insert(findings_.end(), of_bytes.value().begin(), of_bytes.value().end());
  return std::span<const Finding>(findings_);
}

Status CheckedRun::digest_state() {
  if (!twin_) return Ok{};
  std::vector<std::int32_t> blocks(static_cast<std::size_t>(state_->memory().num_blocks));
  std::iota(blocks.begin(), blocks.end(), 0);
  const auto digests = state_->digests(blocks);
  if (!digests.ok()) return digests.error();
  std::uint64_t all = 0;
  for (const std::uint64_t digest : digests.value()) all = mix(all, digest);
  report_.state->digest = all;
  return Ok{};
}

Result<CheckedStep> CheckedRun::step() {
  const auto trace = runner_.step();
  if (!trace.ok()) return trace.error();
  const auto checked = check(*trace.value());
  if (!checked.ok())
    return Error{checked.error().kind,
                 fmt::format("step {}: {}", trace.value()->step, checked.error().message)};
  const std::span<const Finding> findings = checked.value();
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

Status keep_state(const StateOption& option, const Backends& backends, CheckedRun& run) {
  if (!option.in_bytes()) return Ok{};
  auto bytes = make_state_bytes(option, run.plan(), backends);
  if (!bytes.ok()) return bytes.error();
  return run.keep_state_in(std::move(bytes).value());
}

RunReport CheckedRun::finish(const RunEnd& end) {
  report_.summary = summary();
  report_.stopped = why_stopped(end);
  if (twin_) report_.state->num_elements_verified = twin_->num_elements_verified();
  if (over()) report_.unmet = expectation_.unmet(report_.summary);
  if (end.timings)
    report_.wall_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  return std::move(report_);
}

}  // namespace hybridscope
