#include "sessions/explain/explain_row.h"

#include <fmt/core.h>

#include "sessions/explain/explain_sections.h"
#include "sessions/explain/trace_names.h"
#include "sessions/text/number_words.h"

namespace hybridscope {

std::string explain_row_origin(const RowTrace& row) {
  std::string text(row_origin_name(row.origin));
  if (row.origin == RowOrigin::moved) text += fmt::format(" from {}", row.previous_row);
  return text;
}

std::string explain_sample(const ScheduledTrace& scheduled, const RowTrace& row) {
  const std::int32_t a = row.num_sampled_tokens;
  if (a == 0)
    return fmt::format("the chunk ends at {} of {} known{} tokens: what it samples is discarded",
                       scheduled.num_computed_tokens + scheduled.num_scheduled_tokens,
                       scheduled.num_tokens,
                       scheduled.num_output_placeholders > 0
                           ? fmt::format(" + {} in flight", scheduled.num_output_placeholders)
                           : "");
  if (scheduled.num_draft_tokens == 0)
    return fmt::format("a = {}: the token that the step samples, no drafts", a);
  if (scheduled.placeholder_drafts)
    return fmt::format("a = {}: the token that the step samples; its {} never count", a,
                       counted(scheduled.num_draft_tokens, "placeholder"));
  return fmt::format("a = {} of 1..{}: {} of {} accepted, {} rejected, and the bonus token", a,
                     1 + scheduled.num_draft_tokens, a - 1,
                     counted(scheduled.num_draft_tokens, "draft"),
                     scheduled.num_draft_tokens - (a - 1));
}

}  // namespace hybridscope
