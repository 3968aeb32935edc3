// Why requests of a run were served what they were, kept while the run is made.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/trace/step_trace.h"
#include "sessions/cache_report/cache_report.h"
#include "sessions/explain/explain_names.h"
#include "sessions/run/run_plan.h"

namespace hybridscope {

// Which requests a run had at each of its steps, and what the prefix cache served them: taken from
// the steps while they are made.

class RequestLog {
 public:
  // Steps come in order.
  void take(const StepTrace& trace);
  // Forgets the steps behind `step`.
  void forget_after(std::int64_t step);

  // Those that had come and had not finished when the step began, ascending.
  std::vector<RequestId> unfinished(std::int64_t step) const;
  std::int64_t first_step(RequestId request) const;  // 0: no step has named it
  // Of the last admission up to the step; -1: there was none.
  std::int32_t num_hit_tokens(RequestId request, std::int64_t step) const;

 private:
  struct Admitted {
    std::int64_t step = 0;
    std::int32_t num_hit_tokens = 0;
  };
  struct Life {
    std::int64_t first_step = 0;
    std::int64_t ended_in = 0;  // 0: it goes on
    bool aborted = false;       // before that step was scheduled
    std::vector<Admitted> admissions;
  };

  std::map<RequestId, Life> lives_;
};

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
