// When the requests of a run came, were admitted, preempted and left.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/caching/retention.h"
#include "core/trace/step_trace.h"
#include "storage/session_reader.h"

namespace hybridscope {

class RequestLog {
 public:
  // Steps come in order, and so do the changes of each request.
  void take(const StepTrace& trace);
  void take(const RequestChange& change);
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
  // The last step up to this one that preempted it; 0: none did.
  std::int64_t preempted_in(RequestId request, std::int64_t step) const;

 private:
  struct Life {
    std::int64_t first_step = 0;
    std::int64_t ended_in = 0;  // 0: not ended
    bool aborted = false;       // before that step was scheduled
    std::vector<Admitted> admissions = {};
    std::vector<std::int64_t> preemptions = {};  // the steps
  };

  std::map<RequestId, Life> lives_;
};

}  // namespace hybridscope
