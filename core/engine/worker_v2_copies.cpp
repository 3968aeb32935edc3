#include "core/engine/all_mode_copies.h"
#include "core/engine/all_mode_copies_policies.h"
#include "core/engine/copy_rows_policies.h"
#include "core/engine/worker_v2.h"
#include "core/state/align_postprocess.h"
#include "core/state/align_precopy.h"
#include "core/state/all_mode.h"
#include "core/state/copy_variants.h"

namespace hybridscope {

// The advance kernel, then the pre-copy kernel, which takes the slot's columns
// (semantics: preprocess-mamba-align, precopy-mamba-align). The trace lists the advance's decision.
void WorkerV2::pre_copy(StepTrace& trace) {
  if (config_->mamba_cache_mode == MambaCacheMode::none || !metadata_.has_mamba()) return;
  view_mamba_tables(trace, slots_.input_block_tables(), mamba_tables_);
  if (config_->mamba_cache_mode != MambaCacheMode::align) return;
  AlignSlots& align = slots_.align();
  preprocess_mamba_align({.num_reqs = static_cast<std::int32_t>(trace.rows.size()),
                          .block_size = metadata_.mamba_block_size(),
                          .idx_mapping = idx_mapping_,
                          .num_computed_tokens = slots_.num_computed_tokens(),
                          .query_start_loc = trace.common.query_start_loc},
                         align, decisions_)
      .value();
  append_decisions(trace, decisions_, trace.pre_copies);
  run_fused_precopy(idx_mapping_, align, decisions_).value();
  collect_batch_copy_meta(decisions_, mamba_tables_, trace.pre_copies.copies);
  for (RowTrace& row : trace.rows)
    row.num_accepted_tokens = slots_.accepted(row.slot).num_accepted_tokens;
}

// Boundary snapshots after acceptance, with the new count given (semantics: postprocess-mamba-v2).
void WorkerV2::post_copy_align(StepTrace& trace) {
  AlignSlots& align = slots_.align();
  run_fused_postprocess_align({.num_reqs = static_cast<std::int32_t>(trace.rows.size()),
                               .block_size = metadata_.mamba_block_size(),
                               .idx_mapping = idx_mapping_,
                               .state_idx = align.state_idx,
                               .new_num_computed_tokens = slots_.num_computed_tokens()},
                              align.num_accepted_tokens, decisions_)
      .value();
  vary_post_copies(config_->policies, decisions_);
  append_decisions(trace, decisions_, trace.post_copies);
  collect_batch_copy_meta(decisions_, mamba_tables_, trace.post_copies.copies);
  if (config_->policies.is(PostCopyBlockTable::of_first_group))
    use_blocks_of_first_group(trace.post_copies.copies);
}

// The reference's V2 remembers no column and stores no boundaries
// (semantics: mode-all-with-drafts).
void WorkerV2::post_copy_all(StepTrace& trace) {
  const bool safe = config_->policies.is(AllModeSpeculation::remembered_column_and_boundary_copies);
  const std::int32_t block_size = metadata_.mamba_block_size();
  for (std::size_t r = 0; r < trace.rows.size(); ++r) {
    const RowTrace& row = trace.rows[r];
    slots_.slot(row.slot).last_scheduled_col =
        safe ? last_scheduled_column(row.num_computed_tokens,
                                     trace.scheduled_of(row).num_scheduled_tokens, block_size)
             : -1;
    if (safe)
      slots_.align().num_accepted_tokens[static_cast<std::size_t>(row.slot)] = add_boundary_copies(
          trace, static_cast<std::int32_t>(r), block_size, mamba_tables_, decisions_);
  }
}

}  // namespace hybridscope
