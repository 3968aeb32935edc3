#include "gui/model/cache_log.h"

#include <utility>

#include "core/base/check.h"
#include "sessions/cache_report/changed_plan.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"

namespace hybridscope {

// An edit may replace the plan, so requests are looked up on demand.
CacheReport CacheLog::empty_report(const EngineConfig& config) const {
  return CacheReport(config, [this](RequestId id) -> const AddRequest& {
    const std::ptrdiff_t index = find_planned(plan_, names_.request(id));
    HS_EXPECT(index >= 0);
    return plan_.requests[static_cast<std::size_t>(index)].request;
  });
}

void CacheLog::take(const StepTrace& trace) {
  if (outdated_) return;
  if (!report_) report_.emplace(empty_report(plan_.setup.config));
  report_->add(trace);
  last_step_ = trace.step;
}

void CacheLog::forget_after(std::int64_t step) { outdated_ = outdated_ || last_step_ > step; }

// Forgotten steps cannot be removed from a report, so it is made again by a quick run without
// checks.
void CacheLog::make_again(std::int64_t last_step) {
  auto run = CheckedRun::create(plan_, {.check = std::nullopt});
  if (!run.ok()) return;
  CacheReport again = empty_report(plan_.setup.config);
  std::int64_t made = 0;
  const auto driven = drive(
      run.value(),
      [&](const CheckedStep& step) {
        again.add(step.trace);
        made = step.trace.step;
      },
      [&] { return made >= last_step; });
  if (!driven.ok()) return;
  report_ = std::move(again);
  last_step_ = made;
  outdated_ = false;
}

const CacheReport* CacheLog::report(std::int64_t last_known_step) {
  if (outdated_ && last_known_step <= kMostStepsAgain) make_again(last_known_step);
  return report_ && !outdated_ ? &*report_ : nullptr;
}

}  // namespace hybridscope
