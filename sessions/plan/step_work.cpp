#include "sessions/plan/step_work.h"

#include <algorithm>

namespace hybridscope {

StepWork StepWorkCounter::count(const StepTrace& trace) const {
  StepWork work;
  for (const ScheduledTrace& row : trace.scheduled) {
    const std::int32_t of_prompt =
        std::clamp(row.num_prompt_tokens - row.num_computed_tokens, 0, row.num_scheduled_tokens);
    work.prefill += of_prompt;
    work.decode += row.num_scheduled_tokens - of_prompt;
  }
  for (const CopyLaunch* launch : {&trace.pre_copies, &trace.post_copies})
    for (const StateCopyTrace& copy : launch->copies)
      work.copied_bytes += bytes_.copy_bytes(copy.group, copy.accept_token_bias);
  return work;
}

}  // namespace hybridscope
