// Does a run still make progress? The rule behind finding no_progress; it reads only counts, so
// that it also works without a checker.
#pragma once

#include <cstdint>
#include <vector>

#include "core/trace/step_trace.h"

namespace hybridscope {

enum class RunProgress : std::uint8_t {
  moving,
  nothing_scheduled,  // unfinished requests, no scheduled token, and nothing that could change that
  in_circles,         // requests preempt each other and compute the same tokens again and again
};

class ProgressWatch {
 public:
  // Takes each step, in order.
  RunProgress take(const StepTrace& trace);

  // Tokens computed since a request last got further than ever before.
  std::int64_t tokens_without_progress() const { return tokens_without_progress_; }
  // Restarts that count, to go on after `in_circles`.
  void restart() { tokens_without_progress_ = 0; }

 private:
  void note_commits(const StepTrace& trace);

  std::vector<std::int32_t> most_computed_;  // [requests] over all their runs
  std::int64_t unfinished_tokens_ = 0;       // the most known tokens of a step's requests
  std::int64_t tokens_without_progress_ = 0;
};

}  // namespace hybridscope
