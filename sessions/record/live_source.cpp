#include "sessions/record/live_source.h"

#include <algorithm>
#include <utility>

#include "sessions/run/check_setup.h"

namespace hybridscope {

Result<std::unique_ptr<LiveSource>> LiveSource::create(RunPlan plan, RecordLevel level,
                                                       std::string title, CheckScope scope) {
  auto runner = Runner::create(std::move(plan));
  if (!runner.ok()) return runner.error();
  auto checker = StepChecker::create(make_check_config(runner.value().engine().config()));
  if (!checker.ok()) return checker.error();
  return std::unique_ptr<LiveSource>(new LiveSource(
      std::move(runner).value(), std::move(checker).value(), level, std::move(title), scope));
}

LiveSource::LiveSource(Runner runner, StepChecker checker, RecordLevel level, std::string title,
                       CheckScope scope)
    : title_(std::move(title)),
      runner_(std::move(runner)),
      checker_(std::move(checker)),
      scope_(scope),
      recorder_(runner_.engine().config(), level,
                [this](RequestId request) { return request_name(request); }) {
  if (level == RecordLevel::full) checker_.log_writes();
}

std::string LiveSource::request_name(RequestId request) const {
  return runner_.engine().name_of(request);
}

Result<const StepStamp*> LiveSource::next() {
  if (stuck_ || runner_.done()) return nullptr;
  const auto trace = runner_.step();
  if (!trace.ok()) return trace.error();
  const std::span<const Finding> findings = checker_.check(*trace.value(), scope_);
  stuck_ = std::ranges::any_of(
      findings, [](const Finding& finding) { return finding.rule == Rule::no_progress; });
  recorder_.record(*trace.value(), findings, checker_.writes(), record_);
  stamp_ = {.step = trace.value()->step, .digests = record_.digests, .counts = record_.counts};
  return &stamp_;
}

}  // namespace hybridscope
