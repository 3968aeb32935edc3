#include <algorithm>

#include "core/base/result.h"
#include "core/engine/batch_metadata.h"
#include "core/engine/batch_metadata_policies.h"
#include "core/engine/kernel_policies.h"
#include "core/engine/row_inputs.h"
#include "core/engine/row_inputs_policies.h"
#include "core/engine/worker_policies.h"
#include "core/metadata/builder_policies.h"
#include "core/metadata/common_attention_metadata.h"

namespace hybridscope {
namespace {

// The reference's V1 passes counts only in a step in which some row has drafts, its V2 always
// (semantics: draft-and-accepted-counts). Without speculation they are all 1 and no builder takes
// them.
bool passes_counts(const EngineConfig& config, const StepTrace& trace) {
  if (config.num_speculative_tokens == 0) return false;
  if (config.runner == ModelRunner::v2 || !config.policies.is(NoDraftStep::column_zero))
    return true;
  return std::ranges::any_of(trace.scheduled,
                             [](const ScheduledTrace& s) { return s.num_draft_tokens > 0; });
}

// May the group take over what an equal group has built? (semantics: several-groups)
bool shares_builds(const EngineConfig& config, const MetadataBuilder& builder,
                   const MambaSpec& spec) {
  if (config.runner == ModelRunner::v1) return supports_update_block_table(builder);
  if (config.policies.is(GroupBuilds::each_group)) return false;
  const bool mamba = spec.mamba_type == MambaType::mamba1 || spec.mamba_type == MambaType::mamba2;
  return spec.mamba_type == MambaType::gdn_attention ||
         (mamba && supports_update_block_table(builder));
}

}  // namespace

void BatchMetadata::fill_rows(const StepTrace& trace) {
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
}

Status BatchMetadata::build(const EngineConfig& config, StepTrace& trace,
                            std::span<const BlockTable> tables,
                            std::span<const std::int32_t> remembered_columns) {
  Status status = Ok{};
  fill_rows(trace);
  temporal_source_column_.clear();
  if (!remembered_columns.empty()) fill_source_columns(config, trace, remembered_columns);
  for (GroupTrace& group : trace.groups) {
    const BlockTable& table = tables[static_cast<std::size_t>(group.group)];
    group.block_table = table.rows(trace.common.num_reqs);
    if (!group.is_mamba) {
      fill_attention_writes(trace, table, group);
      continue;
    }
    Status built = build_mamba_group(config, trace, static_cast<std::size_t>(group.group));
    if (!built.ok() && status.ok()) status = std::move(built);
  }
  return status;
}

// A split has one border: real rows after the first prefill are prefills (known bug 12). Only row
// orders that ignore the class put decodes there.
std::span<const RowClass> BatchMetadata::classes_to_split(const PolicySet& policies) {
  if (policies.is(RowOrder::decodes_then_query_len) && policies.is(FullRowsFirst::of_drafts))
    return row_classes_;
  classes_to_split_ = row_classes_;
  const auto first_prefill = std::ranges::find(classes_to_split_, RowClass::prefill);
  std::replace_if(
      first_prefill, classes_to_split_.end(),
      [](RowClass row_class) { return row_class != RowClass::padding; }, RowClass::prefill);
  return classes_to_split_;
}

// V1 by shape: the reference's builder, which looks at query lengths alone. V2 by shape, and V1 of
// later trees: a prefilling row is a prefill unless it is one token with context
// (semantics: mamba-short-extends).
Result<BatchSplit> BatchMetadata::split_rows(const EngineConfig& config,
                                             const MetadataBuildInputs& inputs,
                                             std::int32_t threshold,
                                             const TensorView<std::int32_t>& drafts) {
  if (config.policies.is(RowClassing::by_meaning))
    return split_by_row_class({.row_classes = classes_to_split(config.policies),
                               .query_start_loc = inputs.common.query_start_loc,
                               .num_actual_tokens = inputs.common.num_actual_tokens});
  if (config.runner == ModelRunner::v1 && config.policies.is(RowClassing::by_shape))
    return split_mamba_batch_by_shape(inputs.common, threshold, inputs.num_accepted_tokens);
  split_prefilling_.resize(static_cast<std::size_t>(inputs.common.num_reqs));
  return split_mamba_batch_by_prefilling(
      inputs.common,
      {.reorder_batch_threshold = threshold,
       .num_accepted_tokens = inputs.num_accepted_tokens,
       .num_decode_draft_tokens = drafts,
       .padded_row_class = config.policies.get<PaddedRowClass>()},
      split_prefilling_);
}

// NoDraftStep::column_zero: rows without drafts are not spec rows, and a batch without spec rows is
// split as without speculation.
Result<GdnRowClasses> BatchMetadata::gdn_classes(const EngineConfig& config,
                                                 const CommonAttentionMetadata& common,
                                                 const TensorView<std::int32_t>& drafts) {
  const std::int32_t num_spec = config.num_speculative_tokens;
  const bool by_shape = !config.policies.is(RowClassing::by_meaning);
  const bool column_zero = config.policies.is(NoDraftStep::column_zero);
  if (by_shape || (column_zero && num_spec > 0)) {
    const auto classes = classify_gdn_rows_by_drafts(
        common,
        {.num_spec = num_spec,
         .num_decode_draft_tokens = drafts,
         .zero_drafts = zero_drafts_make_verify_rows(config.policies) ? ZeroDrafts::spec_rows
                                                                      : ZeroDrafts::no_spec_rows,
         .batch = config.policies.get<GdnBatch>()},
        gdn_masks_);
    if (by_shape || !classes.ok() || classes.value().spec_batch) return classes;
    return classify_gdn_rows_by_class(common, {0, classes_to_split(config.policies)}, gdn_masks_);
  }
  return classify_gdn_rows_by_class(
      common, {num_spec, num_spec > 0 ? row_classes_ : classes_to_split(config.policies)},
      gdn_masks_);
}

Result<MetadataBuildInputs> BatchMetadata::build_inputs(const EngineConfig& config,
                                                        const StepTrace& trace, std::size_t group) {
  MetadataBuildInputs inputs{.common = trace.common,
                             .num_accepted_tokens = {},
                             .split = {},
                             .gdn_row_classes = {},
                             .policies = config.policies};
  inputs.common.block_table_tensor = trace.groups[group].block_table;
  const MetadataBuilder& builder = builders_[static_cast<std::size_t>(builder_of_group_[group])];
  const bool counts = passes_counts(config, trace) && takes_counts(builder, config.policies);
  TensorView<std::int32_t> drafts;
  if (counts) {
    inputs.num_accepted_tokens = vector_view(num_accepted_tokens_.data(), trace.common.num_reqs);
    drafts = vector_view(num_draft_counts_.data(), trace.common.num_reqs);
  }
  if (row_partition(builder) == RowPartition::spec_and_non_spec) {
    const auto classes = gdn_classes(config, inputs.common, drafts);
    if (!classes.ok()) return classes.error();
    inputs.gdn_row_classes = classes.value();
    return inputs;
  }
  // Without counts the threshold of a split by shape is 1 (semantics: mamba-builder,
  // mamba-short-extends).
  const auto split =
      split_rows(config, inputs, hybridscope::reorder_batch_threshold(builder), drafts);
  if (!split.ok()) return split.error();
  inputs.split = split.value();
  if (!counts && config.num_speculative_tokens > 0 && config.policies.is(MissingCounts::refused)) {
    // Counts of 1 have the effect of MissingCounts::absent: state is read from column 0.
    std::ranges::fill(num_accepted_tokens_, 1);
    inputs.num_accepted_tokens = vector_view(num_accepted_tokens_.data(), trace.common.num_reqs);
  }
  return inputs;
}

// The first group of a kind builds; later ones only exchange the block table where they may.
Status BatchMetadata::build_mamba_group(const EngineConfig& config, StepTrace& trace,
                                        std::size_t group_index) {
  GroupTrace& group = trace.groups[group_index];
  MetadataBuilder& builder = builders_[static_cast<std::size_t>(builder_of_group_[group_index])];
  const auto& groups = config.kv_cache_config.groups;
  for (std::size_t g = 0; g < group_index; ++g) {
    const GroupTrace& earlier = trace.groups[g];
    if (!earlier.is_mamba || !earlier.metadata || earlier.reused_metadata ||
        groups[g].spec != groups[group_index].spec ||
        !shares_builds(config, builder, std::get<MambaSpec>(groups[g].spec)))
      continue;
    CommonAttentionMetadata common = trace.common;
    common.block_table_tensor = group.block_table;
    const auto metadata = update_block_table(builder, *earlier.metadata, common, config.policies);
    if (!metadata.ok()) return metadata.error();
    group.metadata = metadata.value();
    group.reused_metadata = true;
    break;
  }
  group.accepted_counts_given =
      passes_counts(config, trace) && takes_counts(builder, config.policies);
  if (!group.reused_metadata) {
    const auto inputs = build_inputs(config, trace, group_index);
    if (!inputs.ok()) return inputs.error();
    const auto metadata = hybridscope::build(builder, inputs.value());
    if (!metadata.ok()) return metadata.error();
    group.metadata = metadata.value();
  }
  group.replayed_arrays = replayed_arrays(builder);
  if (!group.reused_metadata || config.policies.is(ReusedMetadata::every_array)) {
    if (buffers_refreshed_in_last_build(builder)) group.persistent_buffers_step = trace.step;
  }
  if (config.policies.is(GdnTokenPartition::unstable))
    swap_gathered_tokens(*group.metadata, swapped_tokens_);
  if (temporal_source_column_.empty()) return Ok{};
  const auto num_rows = static_cast<std::int32_t>(temporal_source_column_.size());
  group.temporal_source_column = vector_view(temporal_source_column_.data(), num_rows);
  group.conv_source_column = vector_view(conv_source_column_.data(), num_rows);
  return Ok{};
}

// The column a row reads from is the last scheduled one of its previous step; the reference takes
// the conv window from the last computed column instead (semantics: mode-all-with-drafts).
void BatchMetadata::fill_source_columns(const EngineConfig& config, const StepTrace& trace,
                                        std::span<const std::int32_t> remembered_columns) {
  const bool safe = config.policies.is(AllModeSpeculation::remembered_column_and_boundary_copies);
  temporal_source_column_.assign(static_cast<std::size_t>(trace.common.num_reqs), 0);
  conv_source_column_.assign(static_cast<std::size_t>(trace.common.num_reqs), 0);
  for (std::size_t r = 0; r < trace.rows.size(); ++r) {
    const std::int32_t computed = trace.rows[r].num_computed_tokens;
    const std::int32_t last_computed = std::max(computed - 1, 0) / mamba_block_size_;
    const std::int32_t remembered = remembered_columns[r];
    const bool remembers = !config.policies.is(AllModeSpeculation::computed_column_no_copies);
    temporal_source_column_[r] = remembers && remembered >= 0 ? remembered : last_computed;
    conv_source_column_[r] = safe ? temporal_source_column_[r] : last_computed;
  }
}

BuilderMetadata BatchMetadata::empty_metadata(std::int32_t group) const {
  const std::int32_t builder = builder_of_group_[static_cast<std::size_t>(group)];
  HS_EXPECT(builder >= 0);
  return hybridscope::empty_metadata(builders_[static_cast<std::size_t>(builder)]);
}

void fill_attention_writes(const StepTrace& trace, const BlockTable& table, GroupTrace& group) {
  for (std::size_t r = 0; r < trace.rows.size(); ++r) {
    const ScheduledTrace& scheduled = trace.scheduled_of(trace.rows[r]);
    const auto ids = table.row(static_cast<std::int32_t>(r));
    const std::int32_t begin = trace.rows[r].num_computed_tokens;
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
