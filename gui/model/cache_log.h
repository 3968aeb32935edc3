// Why the prefix cache served requests what it did, collected while the run is made.
#pragma once

#include <cstdint>
#include <optional>

#include "core/trace/step_trace.h"
#include "sessions/cache_report/cache_report.h"
#include "sessions/explain/explain_decision.h"
#include "sessions/explain/explain_names.h"
#include "sessions/run/run_plan.h"

namespace hybridscope {

class CacheLog {
 public:
  // After an edit at most this many steps are made again for the report.
  static constexpr std::int64_t kMostStepsAgain = 4000;

  // Both must outlive this.
  CacheLog(const RunPlan& plan, const Names& names) : plan_(plan), names_(names) {}
  CacheLog(const CacheLog&) = delete;  // the report asks this object for requests
  CacheLog& operator=(const CacheLog&) = delete;

  // Call for every step in order.
  void take(const StepTrace& trace);
  // The plan has changed for the steps after `step`: those already taken are forgotten.
  void forget_after(std::int64_t step);

  // The report on all steps up to `last_known_step`; null: after an edit too many would be made
  // again.
  const CacheReport* report(std::int64_t last_known_step);

 private:
  CacheReport empty_report(const EngineConfig& config) const;
  void make_again(std::int64_t last_step);

  const RunPlan& plan_;
  const Names& names_;
  std::optional<CacheReport> report_;
  std::int64_t last_step_ = 0;  // that was taken
  bool outdated_ = false;       // it has steps that the plan no longer makes
};

}  // namespace hybridscope
