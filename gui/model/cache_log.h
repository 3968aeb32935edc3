// Why the prefix cache served requests what it did, collected while the run is made.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/caching/retention.h"
#include "core/trace/step_trace.h"
#include "gui/model/prefill_chunk.h"
#include "gui/model/shown_run.h"
#include "sessions/cache_report/cache_report.h"
#include "sessions/explain/explain_decision.h"
#include "sessions/explain/explain_names.h"
#include "sessions/run/run_plan.h"

namespace hybridscope {

// Which requests a run had at each step, and what the prefix cache served them; collected from the
// steps as they are made.

// What retention reads of a request that the step admits; empty: the step admits it not.
std::optional<CachedPrompt> find_cached_prompt(const StepTrace& trace, RequestId request);

class RequestLog {
 public:
  // Steps come in order.
  void take(const StepTrace& trace);
  // Forgets the steps after `step`.
  void forget_after(std::int64_t step);

  // Requests that had arrived and not finished when the step began, ascending.
  std::vector<RequestId> unfinished(std::int64_t step) const;
  std::int64_t first_step(RequestId request) const;  // 0: no step has named it
  // At the last admission up to the step; -1: there was none.
  std::int32_t num_hit_tokens(RequestId request, std::int64_t step) const;
  // As of the last admission up to the step; empty: there was none.
  std::optional<CachedPrompt> cached_prompt(RequestId request, std::int64_t step) const;
  // What the request's last row before the step accepted; empty: it had none.
  std::optional<OwnCount> own_count(RequestId request, std::int64_t step) const;
  // The counts of the last step up to this one in which the request had a part; -1: none had.
  RequestCounts counts(RequestId request, std::int64_t step) const;
  // Takes the counts of a step again, the last one that was not forgotten.
  void note_counts(const StepTrace& trace);
  // The chunk that the request's prefill row ran in the step; empty: it had none.
  std::optional<RanChunk> chunk(RequestId request, std::int64_t step) const;

 private:
  struct Admitted {
    std::int64_t step = 0;
    std::int32_t num_hit_tokens = 0;
    CachedPrompt prompt = {};
  };
  struct RanInStep {
    std::int64_t step = 0;
    RanChunk chunk;
  };
  // Steps in each of which the request had a part, and what the last one left.
  struct Stretch {
    std::int64_t first_step = 0;
    std::int64_t last_step = 0;
    RequestCounts counts;
  };
  struct Life {
    std::int64_t first_step = 0;
    std::int64_t ended_in = 0;  // 0: not ended
    bool aborted = false;       // before that step was scheduled
    std::vector<Admitted> admissions;
    std::vector<RanInStep> chunks;  // of its prefill rows, by step
    std::vector<OwnCount> counts;   // that its rows left, by step
    std::vector<Stretch> stretches;
  };

  std::map<RequestId, Life> lives_;
};

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
