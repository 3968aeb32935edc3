#include <algorithm>

#include "core/base/check.h"
#include "core/engine/worker_v1.h"

namespace hybridscope {

// RUNNER 3.4: the reference passes counts only in a step in which some row has drafts.
bool WorkerV1::passes_counts(const StepTrace& trace) const {
  if (config_.num_speculative_tokens == 0) return false;
  if (config_.policies.no_draft_step == NoDraftStep::verify_with_counts) return true;
  return std::ranges::any_of(trace.scheduled,
                             [](const ScheduledTrace& s) { return s.num_draft_tokens > 0; });
}

void WorkerV1::build_metadata(StepTrace& trace, const RequestList& requests) {
  const auto num_reqs = static_cast<std::size_t>(trace.common.num_reqs);
  num_accepted_tokens_.assign(num_reqs, 1);
  num_draft_counts_.assign(num_reqs, -1);
  row_classes_.assign(num_reqs, RowClass::padding);
  for (std::size_t r = 0; r < trace.rows.size(); ++r) {
    num_accepted_tokens_[r] = trace.rows[r].num_accepted_tokens;
    num_draft_counts_[r] = trace.rows[r].num_draft_count;
    row_classes_[r] = trace.rows[r].row_class;
  }
  gdn_masks_.resize(num_reqs);
  if (config_.mamba_cache_mode == MambaCacheMode::all && config_.num_speculative_tokens > 0)
    fill_source_columns(trace, requests);
  for (GroupTrace& group : trace.groups) {
    group.block_table = rows_.block_table(group.group).rows(trace.common.num_reqs);
    if (group.is_mamba)
      build_mamba_group(trace, static_cast<std::size_t>(group.group));
    else
      fill_attention_writes(trace, group);
  }
}

MetadataBuildInputs WorkerV1::build_inputs(const StepTrace& trace, std::size_t group) {
  MetadataBuildInputs inputs{
      .common = trace.common, .num_accepted_tokens = {}, .split = {}, .gdn_row_classes = {}};
  inputs.common.block_table_tensor = trace.groups[group].block_table;
  const bool counts = passes_counts(trace);
  if (counts)
    inputs.num_accepted_tokens = vector_view(num_accepted_tokens_.data(), trace.common.num_reqs);
  const bool by_shape = config_.policies.row_classing == RowClassing::by_shape;
  const MetadataBuilder& builder = builders_[static_cast<std::size_t>(builder_of_group_[group])];
  if (std::holds_alternative<GdnMetadataBuilder>(builder)) {
    TensorView<std::int32_t> drafts;
    if (counts) drafts = vector_view(num_draft_counts_.data(), trace.common.num_reqs);
    const std::int32_t num_spec = config_.num_speculative_tokens;
    const auto classes =
        config_.policies.no_draft_step == NoDraftStep::column_zero || by_shape
            ? classify_gdn_rows_by_drafts(inputs.common, {num_spec, drafts}, gdn_masks_)
            : classify_gdn_rows_by_class(inputs.common, {num_spec, row_classes_}, gdn_masks_);
    inputs.gdn_row_classes = classes.value();
    return inputs;
  }
  if (!counts && config_.num_speculative_tokens > 0) {
    // The pages' Mamba builder refuses decode rows without counts where a later one reads column 0;
    // counts of 1 say the same.
    std::ranges::fill(num_accepted_tokens_, 1);
    inputs.num_accepted_tokens = vector_view(num_accepted_tokens_.data(), trace.common.num_reqs);
  }
  const auto split =
      by_shape ? split_mamba_batch_by_shape(inputs.common, reorder_batch_threshold(builder),
                                            inputs.num_accepted_tokens)
               : split_by_row_class({.row_classes = row_classes_,
                                     .query_start_loc = trace.common.query_start_loc,
                                     .num_actual_tokens = trace.common.num_actual_tokens});
  inputs.split = split.value();
  return inputs;
}

// RUNNER 3.5: the first group of a kind builds, later ones exchange the block table where their
// builder can.
void WorkerV1::build_mamba_group(StepTrace& trace, std::size_t group_index) {
  GroupTrace& group = trace.groups[group_index];
  MetadataBuilder& builder = builders_[static_cast<std::size_t>(builder_of_group_[group_index])];
  const auto& groups = config_.kv_cache_config.groups;
  for (std::size_t g = 0; g < group_index; ++g) {
    const GroupTrace& earlier = trace.groups[g];
    if (!earlier.is_mamba || earlier.reused_metadata || !supports_update_block_table(builder) ||
        groups[g].spec != groups[group_index].spec)
      continue;
    const auto metadata = update_block_table(builder, *earlier.metadata, group.block_table);
    group.metadata = metadata.value();
    group.reused_metadata = true;
    break;
  }
  group.accepted_counts_given = passes_counts(trace);
  if (!group.reused_metadata) {
    const auto metadata = build(builder, build_inputs(trace, group_index));
    group.metadata = metadata.value();
  }
  group.persistent_buffers_refreshed = buffers_refreshed_in_last_build(builder);
  if (temporal_source_column_.empty()) return;
  const auto num_rows = static_cast<std::int32_t>(temporal_source_column_.size());
  group.temporal_source_column = vector_view(temporal_source_column_.data(), num_rows);
  group.conv_source_column = vector_view(conv_source_column_.data(), num_rows);
}

// FORWARD "Mode all with drafts": the column a row reads from is the last scheduled one of its
// previous step; the reference takes the conv window from the last computed column instead.
void WorkerV1::fill_source_columns(StepTrace& trace, const RequestList& requests) {
  const bool safe = config_.policies.all_mode_speculation ==
                    AllModeSpeculation::remembered_column_and_boundary_copies;
  temporal_source_column_.assign(static_cast<std::size_t>(trace.common.num_reqs), 0);
  conv_source_column_.assign(static_cast<std::size_t>(trace.common.num_reqs), 0);
  for (std::size_t r = 0; r < trace.rows.size(); ++r) {
    const std::int32_t computed = trace.scheduled_of(trace.rows[r]).num_computed_tokens;
    const std::int32_t last_computed = std::max(computed - 1, 0) / mamba_block_size_;
    const auto& remembered = requests[trace.rows[r].request].worker.mamba_state_idx;
    temporal_source_column_[r] = remembered.value_or(last_computed);
    conv_source_column_[r] = safe ? temporal_source_column_[r] : last_computed;
  }
}

// slot_mapping, run by run: tokens at positions c .. c + q - 1 (FORWARD "Attention groups").
void WorkerV1::fill_attention_writes(const StepTrace& trace, GroupTrace& group) const {
  const BlockTable& table = rows_.block_table(group.group);
  for (std::size_t r = 0; r < trace.rows.size(); ++r) {
    const ScheduledTrace& scheduled = trace.scheduled_of(trace.rows[r]);
    const auto ids = table.row(static_cast<std::int32_t>(r));
    const std::int32_t begin = scheduled.num_computed_tokens;
    const std::int32_t end = begin + scheduled.num_scheduled_tokens;
    for (std::int32_t position = begin; position < end;) {
      const std::int32_t column = position / group.block_size;
      const std::int32_t run_end = std::min(end, (column + 1) * group.block_size);
      const auto c = static_cast<std::size_t>(column);
      group.attention_writes.push_back({.row = static_cast<std::int32_t>(r),
                                        .column = column,
                                        .block = c < ids.size() ? ids[c] : kPadSlotId,
                                        .first_slot = position - column * group.block_size,
                                        .num_slots = run_end - position,
                                        .first_token = position - begin});
      position = run_end;
    }
  }
}

}  // namespace hybridscope
