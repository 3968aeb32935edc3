#include "core/engine/all_mode_copies.h"

#include "core/engine/batch_metadata.h"
#include "core/engine/row_inputs.h"
#include "core/state/safe_copy_decision.h"

namespace hybridscope {

std::int32_t last_scheduled_column(const RowTrace& row, const ScheduledTrace& scheduled,
                                   std::int32_t block_size) {
  return (row.num_computed_tokens + scheduled.num_scheduled_tokens - 1) / block_size;
}

std::int32_t add_boundary_copies(StepTrace& trace, std::span<const BlockTable> tables,
                                 std::int32_t row_index, std::int32_t block_size) {
  const RowTrace& row = trace.rows[static_cast<std::size_t>(row_index)];
  std::int32_t num_accepted_tokens = num_accepted_tokens_after(row);
  if (row.row_class == RowClass::prefill) return num_accepted_tokens;
  const AllModeBoundaryTerms terms{
      .num_computed_tokens = row.num_computed_tokens,
      .num_accepted_tokens = num_accepted_tokens,
      .last_scheduled_col = last_scheduled_column(row, trace.scheduled_of(row), block_size),
      .block_size = block_size};
  const AllModeBoundaries boundaries = all_mode_boundaries(terms);
  for (std::int32_t i = 0; i < boundaries.count; ++i) {
    const StateCopyDecision decision = decide_all_mode_boundary_copy(terms, boundaries.first + i);
    if (decision.resets_accepted_count) num_accepted_tokens = 1;
    add_state_copies(trace.post_copies, trace, tables, {row.request, row_index, decision});
  }
  return num_accepted_tokens;
}

}  // namespace hybridscope
