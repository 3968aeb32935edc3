// Does a run that nobody checks still get anywhere? By the rule of core/check (finding
// no-progress), so that a run whose requests preempt each other for ever comes to an end.
#pragma once

#include <cstdint>
#include <vector>

#include "core/trace/step_trace.h"

namespace hybridscope {

class ProgressWatch {
 public:
  // False: unfinished requests, and nothing was scheduled though nothing is to come; or four times
  // as many tokens as all requests have were computed since any of them got further.
  bool goes_on(const StepTrace& trace);

 private:
  std::vector<std::int32_t> most_computed_;  // [requests]
  std::int64_t unfinished_tokens_ = 0;       // the most known tokens of a step's requests
  std::int64_t tokens_without_progress_ = 0;
};

}  // namespace hybridscope
