#include "core/engine/copy_rows.h"

#include <cstddef>

#include "core/engine/engine_request.h"
#include "core/engine/worker_policies.h"
#include "core/state/mode_copies.h"

namespace hybridscope {

void CopyRows::fill(const StepTrace& trace) {
  req_ids.clear();
  num_scheduled_tokens.clear();
  num_computed_tokens.clear();
  num_draft_tokens.clear();
  num_accepted_tokens.clear();
  for (const RowTrace& row : trace.rows) {
    const ScheduledTrace& scheduled = trace.scheduled_of(row);
    req_ids.push_back(row.request);
    num_scheduled_tokens.push_back(scheduled.num_scheduled_tokens);
    num_computed_tokens.push_back(row.num_computed_tokens);
    num_draft_tokens.push_back(scheduled.num_draft_tokens);
    num_accepted_tokens.push_back(row.num_accepted_tokens);
  }
}

void view_mamba_tables(const StepTrace& trace, std::span<const BlockTable> tables,
                       std::vector<MambaBlockTable>& views) {
  views.clear();
  for (const GroupTrace& group : trace.groups)
    if (group.is_mamba)
      views.push_back(tables[static_cast<std::size_t>(group.group)].mamba_view(group.group));
}

void append_decisions(const StepTrace& trace, std::span<const StateCopyDecision> decisions,
                      CopyLaunch& launch) {
  for (std::size_t r = 0; r < decisions.size(); ++r)
    launch.decisions.push_back({trace.rows[r].request, static_cast<std::int32_t>(r), decisions[r]});
}

void vary_post_copies(const PolicySet& policies, std::span<StateCopyDecision> decisions) {
  if (policies.is(BackwardPostCopy::suppressed)) suppress_backward_copies(decisions);
  if (policies.is(AcceptedCountReset::in_place)) skip_copies_with_reset_in_place(decisions);
}

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
