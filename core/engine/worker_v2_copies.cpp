#include "core/engine/all_mode_copies.h"
#include "core/engine/worker_v2.h"
#include "core/state/copy_decision.h"

namespace hybridscope {

// The advance kernel, then the pre-copy kernel, which takes the slot's columns
// (semantics: preprocess-mamba-align, precopy-mamba-align).
void WorkerV2::pre_copy(StepTrace& trace) {
  if (config_.mamba_cache_mode != MambaCacheMode::align || !metadata_.has_mamba()) return;
  for (std::size_t r = 0; r < trace.rows.size(); ++r) {
    RowTrace& row = trace.rows[r];
    RequestSlot& slot = slots_.slot(row.slot);
    const StateCopyDecision decision =
        decide_align_advance_v2({.state_idx = slot.state_idx,
                                 .num_accepted_tokens = slot.num_accepted_tokens,
                                 .num_computed_tokens = slot.num_computed_tokens,
                                 .query_len = trace.scheduled_of(row).num_scheduled_tokens,
                                 .block_size = metadata_.mamba_block_size()});
    slot.src_col = decision.src_col;
    slot.src_off = decision.accept_token_bias;
    slot.state_idx = decision.dst_col;
    slot.num_accepted_tokens = decision.num_accepted_tokens_after();
    row.num_accepted_tokens = slot.num_accepted_tokens;
    add_state_copies(trace.pre_copies, trace, slots_.input_block_tables(),
                     {row.request, static_cast<std::int32_t>(r), decision});
  }
}

// Boundary snapshots after acceptance, with the new count given (semantics: postprocess-mamba-v2).
void WorkerV2::post_copy_align(StepTrace& trace) {
  for (std::size_t r = 0; r < trace.rows.size(); ++r) {
    const RowTrace& row = trace.rows[r];
    RequestSlot& slot = slots_.slot(row.slot);
    const StateCopyDecision decision =
        post_copy_under(config_.policies,
                        decide_postprocess_v2({.num_accepted_tokens = slot.num_accepted_tokens,
                                               .state_idx = slot.state_idx,
                                               .new_num_computed_tokens = slot.num_computed_tokens,
                                               .block_size = metadata_.mamba_block_size()}));
    slot.num_accepted_tokens = decision.num_accepted_tokens_after();
    add_state_copies(trace.post_copies, trace, slots_.input_block_tables(),
                     {row.request, static_cast<std::int32_t>(r), decision});
  }
  if (config_.policies.post_copy_block_table == PostCopyBlockTable::of_first_group)
    use_blocks_of_first_group(trace.post_copies);
}

// The reference's V2 remembers no column and stores no boundaries
// (semantics: mode-all-with-drafts).
void WorkerV2::post_copy_all(StepTrace& trace) {
  const bool safe = config_.policies.all_mode_speculation ==
                    AllModeSpeculation::remembered_column_and_boundary_copies;
  for (std::size_t r = 0; r < trace.rows.size(); ++r) {
    const RowTrace& row = trace.rows[r];
    RequestSlot& slot = slots_.slot(row.slot);
    const std::int32_t block_size = metadata_.mamba_block_size();
    slot.last_scheduled_col =
        safe ? last_scheduled_column(row, trace.scheduled_of(row), block_size) : -1;
    if (safe)
      slot.num_accepted_tokens = add_boundary_copies(trace, slots_.input_block_tables(),
                                                     static_cast<std::int32_t>(r), block_size);
  }
}

}  // namespace hybridscope
