// When the requests of a run came, were admitted and left, and what steps left of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/caching/retention.h"
#include "core/trace/step_trace.h"
#include "gui/model/prefill_chunk.h"
#include "sessions/explain/own_counts.h"

namespace hybridscope {

// Numbers of a request when it last had a part in a step; -1: not known.
struct RequestCounts {
  std::int32_t num_prompt_tokens = -1;
  std::int32_t num_computed_tokens = -1;  // as the scheduler counts, tokens in flight included
  std::int32_t num_generated = -1;        // output tokens that have returned
  std::int32_t num_preemptions = -1;
  friend bool operator==(const RequestCounts&, const RequestCounts&) = default;
};
// Takes what the step says of the request. False: it has no part in the step.
bool take_counts(RequestCounts& counts, const StepTrace& trace, RequestId request);

class RequestLog {
 public:
  // Steps come in order. Either all of a step is taken, or only when requests come, are admitted
  // and leave, and then also from a trace that tells nothing else
  // (SessionReader::each_request_change).
  void take(const StepTrace& trace);
  void take_lives(const StepTrace& trace);
  // Forgets the steps after `step`.
  void forget_after(std::int64_t step);

  // Requests that had arrived and not finished when the step began, ascending; without those whose
  // arrival no step has told.
  std::vector<RequestId> unfinished(std::int64_t step) const;
  std::int64_t first_step(RequestId request) const;  // 0: no step has named it
  // How the request came into its last admission up to the step.
  struct Admitted {
    std::int64_t step = 0;
    std::int32_t num_hit_tokens = 0;  // that the prefix cache served
    CachedPrompt prompt = {};         // what retention reads of it
  };
  // Null: it was not admitted up to there.
  const Admitted* admitted(RequestId request, std::int64_t step) const;

  // The functions below need all of the steps.
  // What the request's last row before the step accepted; empty: it had none.
  std::optional<OwnCount> own_count(RequestId request, std::int64_t step) const;
  // The counts of the last step up to this one in which the request had a part; -1: none had.
  // Requires: the step does not schedule the request.
  RequestCounts counts(RequestId request, std::int64_t step) const;
  // Takes the counts of a step again, the last one that was not forgotten.
  void note_counts(const StepTrace& trace);
  // The chunk that the request's prefill row ran in the step; empty: it had none.
  std::optional<RanChunk> chunk(RequestId request, std::int64_t step) const;

 private:
  struct RanInStep {
    std::int64_t step = 0;
    RanChunk chunk;
  };
  // Steps that scheduled the request, one after the other, or a step in which it had another part;
  // and what the last one left.
  struct Stretch {
    std::int64_t first_step = 0;
    std::int64_t last_step = 0;
    bool scheduled = false;
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

}  // namespace hybridscope
