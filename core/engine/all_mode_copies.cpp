#include "core/engine/all_mode_copies.h"

#include "core/engine/accepted_count.h"
#include "core/state/all_mode.h"

namespace hybridscope {

std::int32_t add_boundary_copies(StepTrace& trace, std::int32_t row_index, std::int32_t block_size,
                                 MambaBlockTables tables,
                                 std::vector<StateCopyDecision>& decisions) {
  const RowTrace& row = trace.rows[static_cast<std::size_t>(row_index)];
  const std::int32_t num_accepted_tokens = accepted_count_after(row).num_accepted_tokens;
  if (row.row_class == RowClass::prefill) return num_accepted_tokens;
  decisions.clear();
  const std::int32_t num_accepted_tokens_next = decide_all_mode_boundary_copies(
      {.num_computed_tokens = row.num_computed_tokens,
       .num_accepted_tokens = num_accepted_tokens,
       .last_scheduled_col = last_scheduled_column(
           row.num_computed_tokens, trace.scheduled_of(row).num_scheduled_tokens, block_size),
       .block_size = block_size},
      decisions);
  CopyLaunch& launch = trace.post_copies;
  for (const StateCopyDecision& decision : decisions) {
    const auto index = static_cast<std::int32_t>(launch.decisions.size());
    launch.decisions.push_back({row.request, row_index, decision});
    collect_mamba_copy_meta(decision, {.decision = index, .row = row_index}, tables, launch.copies);
  }
  return num_accepted_tokens_next;
}

}  // namespace hybridscope
