#include "core/engine/all_mode_copies.h"
#include "core/engine/all_mode_copies_policies.h"
#include "core/engine/copy_rows_policies.h"
#include "core/engine/worker_v1.h"
#include "core/engine/worker_v1_policies.h"
#include "core/state/align_postprocess.h"
#include "core/state/align_preprocess.h"
#include "core/state/all_mode.h"
#include "core/state/copy_variants.h"

namespace hybridscope {

// Forgets the remembered columns of requests that lost their state
// (semantics: cleanup-mamba-state-idx).
void WorkerV1::forget_columns(const StepTrace& trace, std::span<const RequestId> finished) {
  if (config_->mamba_cache_mode == MambaCacheMode::none) return;
  const bool remembers = config_->policies.is(ResumedStateColumn::remembered);
  preempted_.clear();
  resumed_.clear();
  for (const RequestId id : trace.preempted) {
    const auto i = static_cast<std::size_t>(id.value);
    const bool resumed_at_once = i < scheduled_of_request_.size() && scheduled_of_request_[i] >= 0;
    if (!remembers || !resumed_at_once) preempted_.push_back(id);
  }
  for (const ScheduledTrace& scheduled : trace.scheduled)
    if (!remembers && scheduled.admission != Admission::running)
      resumed_.push_back(scheduled.request);
  cleanup_mamba_state_idx(
      {.finished_req_ids = finished, .preempted_req_ids = preempted_, .resumed_req_ids = resumed_},
      mamba_state_idx_);
}

// The running state moves with the running column (semantics: preprocess-mamba).
void WorkerV1::pre_copy(StepTrace& trace) {
  if (config_->mamba_cache_mode == MambaCacheMode::none || !metadata_.has_mamba()) return;
  copy_rows_.fill(trace);
  view_mamba_tables(trace, rows_.block_tables(), mamba_tables_);
  if (config_->mamba_cache_mode != MambaCacheMode::align) return;
  const bool exact = config_->policies.is(RunningColumn::of_exact_count);
  if (!exact) find_optimistic_counts(trace);
  preprocess_mamba(
      {.enable_prefix_caching = config_->enable_prefix_caching,
       .block_size = metadata_.mamba_block_size(),
       .req_ids = copy_rows_.req_ids,
       .num_scheduled_tokens = copy_rows_.num_scheduled_tokens,
       .num_computed_tokens = exact ? copy_rows_.num_computed_tokens : optimistic_computed_tokens_},
      mamba_state_idx_, copy_rows_.num_accepted_tokens, decisions_)
      .value();
  append_decisions(trace, decisions_, trace.pre_copies);
  collect_batch_copy_meta(decisions_, mamba_tables_, trace.pre_copies.copies);
  for (std::size_t r = 0; r < trace.rows.size(); ++r)
    trace.rows[r].num_accepted_tokens = copy_rows_.num_accepted_tokens[r];
  if (config_->num_speculative_tokens == 0) return;
  stage_postprocess_inputs({.req_ids = copy_rows_.req_ids,
                            .num_scheduled_tokens = copy_rows_.num_scheduled_tokens,
                            .num_computed_tokens = copy_rows_.num_computed_tokens,
                            .num_draft_tokens = copy_rows_.num_draft_tokens},
                           mamba_state_idx_, staged_)
      .value();
}

// RunningColumn::of_optimistic_count: as the scheduler counts.
void WorkerV1::find_optimistic_counts(const StepTrace& trace) {
  optimistic_computed_tokens_.clear();
  for (const RowTrace& row : trace.rows)
    optimistic_computed_tokens_.push_back(trace.scheduled_of(row).num_computed_tokens);
}

// Boundary snapshots after acceptance (semantics: postprocess-mamba).
void WorkerV1::post_copy_align(StepTrace& trace) {
  for (std::size_t r = 0; r < trace.rows.size(); ++r)
    copy_rows_.num_accepted_tokens[r] = accepted_[r].num_accepted_tokens;
  run_fused_postprocess({.num_reqs = static_cast<std::int32_t>(trace.rows.size()),
                         .block_size = metadata_.mamba_block_size(),
                         .num_accepted_tokens = copy_rows_.num_accepted_tokens,
                         .mamba_state_idx = staged_.mamba_state_idx,
                         .num_scheduled_tokens = staged_.num_scheduled_tokens,
                         .num_computed_tokens = staged_.num_computed_tokens,
                         .num_draft_tokens = staged_.num_draft_tokens},
                        num_accepted_tokens_out_, decisions_)
      .value();
  vary_post_copies(config_->policies, decisions_);
  append_decisions(trace, decisions_, trace.post_copies);
  collect_batch_copy_meta(decisions_, mamba_tables_, trace.post_copies.copies);
  if (config_->policies.is(PostCopyBlockTable::of_first_group))
    use_blocks_of_first_group(trace.post_copies.copies);
  for (std::size_t r = 0; r < trace.rows.size(); ++r)
    accepted_[r].num_accepted_tokens = num_accepted_tokens_out_[r];
}

// The last scheduled column is remembered, and boundary states that lie in scratch columns are
// stored in the columns whose hash stands for them (semantics: mode-all-with-drafts).
void WorkerV1::post_copy_all(StepTrace& trace) {
  const PostprocessMambaAllInputs inputs{.num_spec_tokens = config_->num_speculative_tokens,
                                         .block_size = metadata_.mamba_block_size(),
                                         .req_ids = copy_rows_.req_ids,
                                         .num_scheduled_tokens = copy_rows_.num_scheduled_tokens,
                                         .num_computed_tokens = copy_rows_.num_computed_tokens};
  if (!config_->policies.is(AllModeSpeculation::remembered_column_and_boundary_copies)) {
    postprocess_mamba_all(inputs, mamba_state_idx_).value();
    return;
  }
  remember_last_scheduled_columns(inputs, mamba_state_idx_).value();
  for (std::size_t r = 0; r < trace.rows.size(); ++r)
    accepted_[r].num_accepted_tokens =
        add_boundary_copies(trace, static_cast<std::int32_t>(r), metadata_.mamba_block_size(),
                            mamba_tables_, decisions_);
}

// Mode all with drafts: where each row's last step ended
// (semantics: preprocess-mamba-all-specdec).
std::span<const std::int32_t> WorkerV1::remembered_columns(const StepTrace& trace) {
  if (config_->mamba_cache_mode != MambaCacheMode::all || config_->num_speculative_tokens == 0)
    return {};
  preprocess_mamba_all_specdec(copy_rows_.req_ids, mamba_state_idx_, prev_last_scheduled_idx_)
      .value();
  return std::span(prev_last_scheduled_idx_).first(trace.rows.size());
}

}  // namespace hybridscope
