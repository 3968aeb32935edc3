#include "gui/model/cache_log.h"

#include <utility>

#include "core/base/check.h"
#include "sessions/cache_report/planned_requests.h"
#include "sessions/run/checked_run.h"

namespace hybridscope {

// An edit may put another plan into the place of this one: requests are looked for when asked for.
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

// What was forgotten cannot be taken out of the report; a run without checks is quick.
void CacheLog::make_again(std::int64_t last_step) {
  auto run = CheckedRun::create(plan_, {.check = std::nullopt});
  if (!run.ok()) return;
  CacheReport again = empty_report(plan_.setup.config);
  std::int64_t made = 0;
  while (made < last_step && !run.value().has_ended()) {
    const auto step = run.value().step();
    if (!step.ok()) return;
    again.add(step.value().trace);
    made = step.value().trace.step;
  }
  report_ = std::move(again);
  last_step_ = made;
  outdated_ = false;
}

const CacheReport* CacheLog::report(std::int64_t last_known_step) {
  if (outdated_ && last_known_step <= kMostStepsAgain) make_again(last_known_step);
  return report_ && !outdated_ ? &*report_ : nullptr;
}

}  // namespace hybridscope
