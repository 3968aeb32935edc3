// Why requests of a run were served what they were, kept while the run is made.
#pragma once

#include <cstdint>
#include <optional>

#include "core/trace/step_trace.h"
#include "sessions/cache_report/cache_report.h"
#include "sessions/explain/explain_names.h"
#include "sessions/run/run_plan.h"

namespace hybridscope {

class CacheLog {
 public:
  // More steps than these are not made again behind an edit.
  static constexpr std::int64_t kMostStepsAgain = 4000;

  // Both have to live as long as this.
  CacheLog(const RunPlan& plan, const Names& names) : plan_(plan), names_(names) {}
  CacheLog(const CacheLog&) = delete;  // the report asks this object for requests
  CacheLog& operator=(const CacheLog&) = delete;

  // Every step that is made, in order.
  void take(const StepTrace& trace);
  // The plan says something else of the steps behind `step`: those that were taken are forgotten.
  void forget_after(std::int64_t step);

  // Of all steps up to `last_known_step`; null: an edit lies before more steps than are made again.
  const CacheReport* report(std::int64_t last_known_step);

 private:
  CacheReport empty_report(const EngineConfig& config) const;
  void make_again(std::int64_t last_step);

  const RunPlan& plan_;
  const Names& names_;
  std::optional<CacheReport> report_;
  std::int64_t last_step_ = 0;  // that was taken
  bool outdated_ = false;       // it has steps that the plan does not make any more
};

}  // namespace hybridscope
