#include "core/trace/copied_tokens.h"

namespace hybridscope {

std::int32_t copied_tokens(const StepTrace& trace, const BlockCopy& copy) {
  for (const ScheduledTrace& scheduled : trace.scheduled)
    if (scheduled.request == copy.request && scheduled.admission != Admission::running)
      return scheduled.num_hit_tokens;
  for (const CacheEvent& event : trace.cache_events)
    if (event.kind == CacheEventKind::registered && event.block == copy.block && event.column < 0)
      return event.num_tokens;
  return 0;
}

}  // namespace hybridscope
