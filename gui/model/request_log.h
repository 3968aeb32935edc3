// Which requests a run had at each of its steps, and what the prefix cache served them: taken from
// the steps while they are made.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/trace/step_trace.h"

namespace hybridscope {

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

}  // namespace hybridscope
