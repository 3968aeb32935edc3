#include "core/base/check.h"
#include "core/engine/all_mode_copies.h"
#include "core/engine/worker_v1.h"
#include "core/state/copy_decision.h"

namespace hybridscope {

// The running state moves with the running column (semantics: preprocess-mamba).
void WorkerV1::pre_copy(StepTrace& trace, RequestList& requests) {
  if (config_.mamba_cache_mode != MambaCacheMode::align || !metadata_.has_mamba()) return;
  const bool exact = config_.policies.running_column == RunningColumn::of_exact_count;
  for (std::size_t r = 0; r < trace.rows.size(); ++r) {
    RowTrace& row = trace.rows[r];
    const ScheduledTrace& scheduled = trace.scheduled_of(row);
    WorkerRequest& worker = requests[row.request].worker;
    const StateCopyDecision decision = decide_preprocess_v1(
        {.has_mamba_state_idx = worker.mamba_state_idx.has_value(),
         .mamba_state_idx = worker.mamba_state_idx.value_or(-1),
         .num_computed_tokens = exact ? row.num_computed_tokens : scheduled.num_computed_tokens,
         .num_scheduled_tokens = scheduled.num_scheduled_tokens,
         .num_accepted_tokens = row.num_accepted_tokens,
         .block_size = metadata_.mamba_block_size()});
    worker.mamba_state_idx = decision.dst_col;
    row.num_accepted_tokens = decision.num_accepted_tokens_after();
    worker.num_accepted_tokens = row.num_accepted_tokens;
    rows_.row(static_cast<std::int32_t>(r)).num_accepted_tokens = row.num_accepted_tokens;
    add_state_copies(trace.pre_copies, trace, rows_.block_tables(),
                     {row.request, static_cast<std::int32_t>(r), decision});
  }
}

// Boundary snapshots after acceptance (semantics: postprocess-mamba).
void WorkerV1::post_copy_align(StepTrace& trace, RequestList& requests) {
  for (std::size_t r = 0; r < trace.rows.size(); ++r) {
    const RowTrace& row = trace.rows[r];
    const ScheduledTrace& scheduled = trace.scheduled_of(row);
    WorkerRequest& worker = requests[row.request].worker;
    HS_EXPECT(worker.mamba_state_idx.has_value());
    const StateCopyDecision decision = post_copy_under(
        config_.policies,
        decide_postprocess_v1({.num_accepted_tokens = worker.num_accepted_tokens,
                               .mamba_state_idx = *worker.mamba_state_idx,
                               .num_scheduled_tokens = scheduled.num_scheduled_tokens,
                               .num_computed_tokens = row.num_computed_tokens,
                               .num_draft_tokens = scheduled.num_draft_tokens,
                               .block_size = metadata_.mamba_block_size()}));
    worker.num_accepted_tokens = decision.num_accepted_tokens_after();
    add_state_copies(trace.post_copies, trace, rows_.block_tables(),
                     {row.request, static_cast<std::int32_t>(r), decision});
  }
  if (config_.policies.post_copy_block_table == PostCopyBlockTable::of_first_group)
    use_blocks_of_first_group(trace.post_copies);
}

// The last scheduled column is remembered, and boundary states that lie in scratch columns are
// stored where the hash will say they are (semantics: mode-all-with-drafts).
void WorkerV1::post_copy_all(StepTrace& trace, RequestList& requests) {
  const bool safe = config_.policies.all_mode_speculation ==
                    AllModeSpeculation::remembered_column_and_boundary_copies;
  for (std::size_t r = 0; r < trace.rows.size(); ++r) {
    const RowTrace& row = trace.rows[r];
    const ScheduledTrace& scheduled = trace.scheduled_of(row);
    WorkerRequest& worker = requests[row.request].worker;
    if (safe || scheduled.num_scheduled_tokens == 1 + config_.num_speculative_tokens)
      worker.mamba_state_idx = last_scheduled_column(row, scheduled, metadata_.mamba_block_size());
    else
      worker.mamba_state_idx.reset();
    if (safe)
      worker.num_accepted_tokens = add_boundary_copies(
          trace, rows_.block_tables(), static_cast<std::int32_t>(r), metadata_.mamba_block_size());
  }
}

}  // namespace hybridscope
