#include "core/metadata/mamba_builder.h"

#include <algorithm>
#include <string>

#include "core/base/math.h"
#include "core/metadata/builder_policies.h"

namespace hybridscope {
namespace {

Status check_inputs(const MambaBuildInputs& inputs) {
  const CommonAttentionMetadata& common = inputs.common;
  const auto rows = static_cast<std::size_t>(common.num_reqs);
  if (common.num_reqs < 0 || common.query_start_loc.size() != rows + 1 ||
      common.seq_lens.size() != rows)
    return invalid_input("query_start_loc has " + std::to_string(common.query_start_loc.size()) +
                         " and seq_lens " + std::to_string(common.seq_lens.size()) +
                         " entries for " + std::to_string(common.num_reqs) + " rows");
  const BatchSplit& split = inputs.split;
  if (split.num_decodes < 0 || split.num_prefills < 0 ||
      split.num_decodes + split.num_prefills != common.num_reqs)
    return invalid_input("split of " + std::to_string(split.num_decodes) + " decodes and " +
                         std::to_string(split.num_prefills) + " prefills for " +
                         std::to_string(common.num_reqs) + " rows");
  return Ok{};
}

}  // namespace

Result<BatchSplit> split_mamba_batch_by_shape(const CommonAttentionMetadata& common,
                                              std::int32_t reorder_batch_threshold,
                                              const TensorView<std::int32_t>& num_accepted_tokens) {
  return split_decodes_and_prefills(
      common, {.decode_threshold = num_accepted_tokens.present ? reorder_batch_threshold : 1});
}

Result<BatchSplit> split_mamba_batch_by_prefilling(const CommonAttentionMetadata& common,
                                                   const MambaRowInput& input,
                                                   std::span<std::uint8_t> prefilling) {
  const auto rows = static_cast<std::size_t>(common.num_reqs);
  const TensorView<std::int32_t>& drafts = input.num_decode_draft_tokens;
  if (common.query_start_loc.size() != rows + 1 || common.seq_lens.size() != rows ||
      common.is_prefilling.size() != rows || prefilling.size() < rows ||
      (drafts.present && drafts.rows != common.num_reqs))
    return invalid_input("arrays that do not fit " + std::to_string(common.num_reqs) + " rows");
  for (std::int32_t row = 0; row < common.num_reqs; ++row) {
    const auto r = static_cast<std::size_t>(row);
    const std::int32_t len = query_len(common, row);
    const bool padded = input.padded_row_class == PaddedRowClass::decode_with_context &&
                        drafts.present && drafts.at(row) >= 0 && len == drafts.at(row) + 1;
    const bool decodes = common.seq_lens[r] > len && (len == 1 || padded);
    prefilling[r] = common.is_prefilling[r] != 0 && !decodes ? 1 : 0;
  }
  CommonAttentionMetadata classed = common;
  classed.is_prefilling = prefilling.first(rows);
  return split_decodes_and_prefills_v2(
      classed,
      {.decode_threshold = input.num_accepted_tokens.present ? input.reorder_batch_threshold : 1,
       .treat_short_extends_as_decodes = false});
}

MambaMetadataBuilder::MambaMetadataBuilder(const MambaBuilderConfig& config,
                                           AllModeArrays all_mode_arrays)
    : config_(config),
      all_mode_arrays_(all_mode_arrays),
      gather_{.mamba_cache_mode = config.mamba_cache_mode,
              .block_size = ReciprocalDivider(config.block_size),
              .num_speculative_blocks = config.num_speculative_blocks},
      decode_cudagraph_max_bs_(std::min(
          config.max_num_seqs, config.max_cudagraph_capture_size.value_or(config.max_num_seqs))),
      reorder_batch_threshold_(hybridscope::reorder_batch_threshold(config)),
      buffers_(config, all_mode_arrays, decode_cudagraph_max_bs_) {}

bool MambaMetadataBuilder::takes_counts(const PolicySet& policies) const {
  return policies.is(Mamba1Counts::taken);
}

std::span<const std::string_view> MambaMetadataBuilder::replayed_arrays(
    MambaCacheMode mamba_cache_mode, std::int32_t num_spec) {
  static constexpr std::array<std::string_view, 4> kAll = {
      "state_indices_tensor_d", "block_idx_last_scheduled_token", "block_idx_last_computed_token",
      "num_accepted_tokens"};
  static constexpr std::array<std::string_view, 2> kOther = {"state_indices_tensor_d",
                                                             "num_accepted_tokens"};
  const std::span<const std::string_view> arrays = mamba_cache_mode == MambaCacheMode::all
                                                       ? std::span<const std::string_view>(kAll)
                                                       : std::span<const std::string_view>(kOther);
  return num_spec > 0 ? arrays : arrays.first(arrays.size() - 1);
}

Result<MambaMetadataBuilder> MambaMetadataBuilder::create(const MambaBuilderConfig& config,
                                                          const PolicySet& policies) {
  if (auto status = check_config(config); !status) return status.error();
  return MambaMetadataBuilder(config, policies.get<AllModeArrays>());
}

Result<MambaMetadata> MambaMetadataBuilder::build(const MambaBuildInputs& inputs) {
  auto metadata = build_shared(inputs);
  if (!metadata) return metadata;
  if (auto status = set_chunks(metadata.value()); !status) return status.error();
  return metadata;
}

Result<MambaMetadata> MambaMetadataBuilder::build_shared(const MambaBuildInputs& inputs) {
  refreshed_ = false;
  if (auto status = check_inputs(inputs); !status) return status.error();
  const CommonAttentionMetadata& common = inputs.common;
  const auto window = find_window(common.block_table_tensor, common.seq_lens);
  if (!window) return window.error();

  MambaMetadata metadata{.num_prefills = inputs.split.num_prefills,
                         .num_prefill_tokens = inputs.split.num_prefill_tokens,
                         .num_decodes = inputs.split.num_decodes,
                         .num_decode_tokens = inputs.split.num_decode_tokens,
                         .num_reqs = common.num_reqs,
                         .num_accepted_tokens = inputs.num_accepted_tokens,
                         .seq_lens = vector_view(common.seq_lens.data(), common.num_reqs)};
  if (all_mode_arrays_ == AllModeArrays::writes_counted) metadata.num_state_writes_p = 0;
  if (all_mode()) set_block_indices(common, metadata);
  if (auto status = set_decode_counts(inputs, metadata); !status) return status.error();
  if (metadata.num_prefills > 0)
    if (auto status = set_prefill_fields(common, metadata); !status) return status.error();
  if (auto status = set_state_indices(window.value(), inputs.policies, metadata); !status)
    return status.error();
  return metadata;
}

Status MambaMetadataBuilder::set_decode_counts(const MambaBuildInputs& inputs,
                                               MambaMetadata& metadata) {
  const std::int32_t n = metadata.num_decodes;
  if (n == 0 || config_.num_spec == 0) return Ok{};
  const MissingCounts missing = inputs.policies.get<MissingCounts>();
  const auto query_start_loc_d = vector_view(inputs.common.query_start_loc.data(), n + 1);
  if (inputs.num_accepted_tokens.present) {
    metadata.num_accepted_tokens = slice_head(inputs.num_accepted_tokens, n);
  } else if (missing == MissingCounts::refused) {
    return invalid_input("num_accepted_tokens is needed: " + std::to_string(config_.num_spec) +
                         " speculative tokens and " + std::to_string(n) + " decode rows");
  } else if (missing == MissingCounts::absent) {
    return Ok{};
  } else {
    std::int32_t* lengths = grown(query_lens_d_, n);
    for (std::int32_t row = 0; row < n; ++row) lengths[row] = query_len(inputs.common, row);
    metadata.num_accepted_tokens = vector_view<std::int32_t>(lengths, n);
  }
  metadata.query_start_loc_d = query_start_loc_d;
  return Ok{};
}

Result<MambaMetadata> MambaMetadataBuilder::build_for_cudagraph_capture(
    const CommonAttentionMetadata& common, const PolicySet& policies) {
  const auto inputs = capture_inputs(common, takes_counts(policies), policies);
  if (!inputs) return inputs.error();
  return build(inputs.value());
}

Result<MambaBuildInputs> MambaMetadataBuilder::capture_inputs(const CommonAttentionMetadata& common,
                                                              bool takes_counts,
                                                              const PolicySet& policies) {
  refreshed_ = false;
  if (common.num_reqs > decode_cudagraph_max_bs_ || common.max_query_len != 1 + config_.num_spec)
    return invalid_input("capture of " + std::to_string(common.num_reqs) + " rows of up to " +
                         std::to_string(common.max_query_len) + " tokens (expected at most " +
                         std::to_string(decode_cudagraph_max_bs_) + " rows of " +
                         std::to_string(1 + config_.num_spec) + ")");
  MambaBuildInputs inputs{.common = common, .policies = policies};
  if (takes_counts && config_.num_spec > 0 && !common.query_start_loc.empty()) {
    const std::size_t rows = common.query_start_loc.size() - 1;
    std::int32_t* counts = grown(capture_num_accepted_tokens_, static_cast<std::int64_t>(rows));
    for (std::size_t row = 0; row < rows; ++row)
      counts[row] = common.query_start_loc[row + 1] - common.query_start_loc[row];
    inputs.num_accepted_tokens = vector_view<std::int32_t>(counts, static_cast<std::int32_t>(rows));
  }
  const auto split =
      split_mamba_batch_by_shape(common, reorder_batch_threshold_, inputs.num_accepted_tokens);
  if (!split) return split.error();
  inputs.split = split.value();
  return inputs;
}

Result<MambaMetadata> MambaMetadataBuilder::update_block_table(
    const MambaMetadata& metadata, const TensorView<std::int32_t>& block_table,
    const PolicySet& policies) {
  refreshed_ = false;
  const auto window = find_window(
      block_table, {metadata.seq_lens.data, static_cast<std::size_t>(metadata.seq_lens.rows)});
  if (!window) return window.error();
  MambaMetadata updated = metadata;
  if (auto status = set_state_indices(window.value(), policies, updated); !status)
    return status.error();
  return updated;
}

Result<BlockTableWindow> MambaMetadataBuilder::find_window(
    const TensorView<std::int32_t>& block_table, std::span<const std::int32_t> seq_lens) {
  const auto rows = static_cast<std::int64_t>(seq_lens.size());
  return find_block_table_window(
      {.config = gather_, .block_table = block_table, .seq_lens = seq_lens},
      {grown(starts_, rows), seq_lens.size()});
}

void MambaMetadataBuilder::set_block_indices(const CommonAttentionMetadata& common,
                                             MambaMetadata& metadata) {
  std::int32_t* last_computed = grown(block_idx_last_computed_scratch_, common.num_reqs);
  std::int32_t* first_scheduled = grown(block_idx_first_scheduled_scratch_, common.num_reqs);
  std::int32_t* last_scheduled = grown(block_idx_last_scheduled_scratch_, common.num_reqs);
  for (std::int32_t row = 0; row < common.num_reqs; ++row) {
    const PrefixBlockIndices indices =
        compute_prefix_block_indices({.num_computed_tokens = num_computed_tokens(common, row),
                                      .seq_len = common.seq_lens[static_cast<std::size_t>(row)],
                                      .block_size = config_.block_size});
    last_computed[row] = indices.block_idx_last_computed_token;
    first_scheduled[row] = indices.block_idx_first_scheduled_token;
    last_scheduled[row] = indices.block_idx_last_scheduled_token;
  }
  metadata.block_idx_last_computed_token =
      vector_view<std::int32_t>(last_computed, common.num_reqs);
  metadata.block_idx_last_scheduled_token =
      vector_view<std::int32_t>(last_scheduled, common.num_reqs);
}

Status MambaMetadataBuilder::set_prefill_fields(const CommonAttentionMetadata& common,
                                                MambaMetadata& metadata) {
  const std::int32_t n = metadata.num_prefills;
  const std::int32_t first = common.num_reqs - n;
  std::int32_t* query_start_loc_p = grown(query_start_loc_p_, n + 1);
  std::int32_t* computed = grown(num_computed_tokens_p_, n);
  std::uint8_t* has_initial_states = grown(has_initial_states_p_, n);
  for (std::int32_t i = 0; i <= n; ++i)
    query_start_loc_p[i] =
        common.query_start_loc[static_cast<std::size_t>(first + i)] - metadata.num_decode_tokens;
  for (std::int32_t i = 0; i < n; ++i) {
    computed[i] = num_computed_tokens(common, first + i);
    has_initial_states[i] = computed[i] > 0 ? 1 : 0;
  }
  metadata.query_start_loc_p = vector_view<std::int32_t>(query_start_loc_p, n + 1);
  metadata.has_initial_states_p = vector_view<std::uint8_t>(has_initial_states, n);
  if (all_mode()) {
    count_state_writes(common, metadata);
    metadata.num_computed_tokens_p = vector_view<std::int32_t>(computed, n);
    metadata.block_idx_first_scheduled_token_p =
        vector_view<std::int32_t>(block_idx_first_scheduled_scratch_.data() + first, n);
  }
  auto conv1d = conv1d_.compute({query_start_loc_p, static_cast<std::size_t>(n) + 1});
  if (!conv1d) return conv1d.error();
  metadata.conv1d = conv1d.value();
  return Ok{};
}

void MambaMetadataBuilder::count_state_writes(const CommonAttentionMetadata& common,
                                              MambaMetadata& metadata) const {
  if (all_mode_arrays_ != AllModeArrays::writes_counted) return;
  for (std::int32_t row = common.num_reqs - metadata.num_prefills; row < common.num_reqs; ++row) {
    const std::int32_t end = common.seq_lens[static_cast<std::size_t>(row)];
    const std::int32_t first = num_computed_tokens(common, row) + config_.block_size;
    metadata.num_state_writes_p +=
        std::max(floor_div(end + config_.block_size - 1, config_.block_size) -
                     floor_div(first, config_.block_size),
                 0);
  }
}

// Mamba1 of mode all stores a state at the end of each block.
Status MambaMetadataBuilder::set_chunks(MambaMetadata& metadata) {
  if (!all_mode() || all_mode_arrays_ == AllModeArrays::cut_to_tokens || metadata.num_prefills == 0)
    return Ok{};
  const auto n = static_cast<std::size_t>(metadata.num_prefills);
  const auto chunks =
      chunks_.compute({.chunk_size = config_.block_size,
                       .num_computed_tokens_p = {metadata.num_computed_tokens_p.data, n},
                       .query_start_loc_p = {metadata.query_start_loc_p.data, n + 1}});
  if (!chunks) return chunks.error();
  metadata.cu_chunk_seqlen_p = chunks.value().cu_chunk_seqlen_p;
  metadata.last_chunk_indices_p = chunks.value().last_chunk_indices_p;
  return Ok{};
}

Status MambaMetadataBuilder::set_state_indices(const BlockTableWindow& window,
                                               const PolicySet& policies, MambaMetadata& metadata) {
  const std::int32_t decodes = metadata.num_decodes;
  const std::int32_t prefills = metadata.num_prefills;
  if (window.rows != decodes + prefills)
    return invalid_input("block table of " + std::to_string(window.rows) + " rows for " +
                         std::to_string(decodes + prefills) + " requests");
  if (all_mode()) {
    metadata.state_indices_tensor_p = matrix_view(window.row(decodes), prefills, window.width);
  } else {
    if (window.width == 0) return invalid_input("block table has no columns");
    std::int32_t* out = grown(scratch_p_, prefills);
    copy_window_rows(window, {.first = decodes, .count = prefills, .width = 1}, out);
    metadata.state_indices_tensor_p = vector_view<std::int32_t>(out, prefills);
  }
  if (takes_graph_branch(metadata)) {
    if (auto status = buffers_.check(window, policies.get<MissingCounts>(), metadata); !status)
      return status;
    buffers_.write(window, metadata);
    refreshed_ = true;
    return Ok{};
  }
  if (all_mode()) {
    metadata.state_indices_tensor_d = matrix_view(window.data, decodes, window.width);
    return Ok{};
  }
  const std::int32_t width = std::min(window.width, 1 + config_.num_spec);
  std::int32_t* out = grown(scratch_d_, static_cast<std::int64_t>(decodes) * width);
  copy_window_rows(window, {.count = decodes, .width = width}, out);
  metadata.state_indices_tensor_d = matrix_view<std::int32_t>(out, decodes, width);
  return Ok{};
}

bool MambaMetadataBuilder::takes_graph_branch(const MambaMetadata& metadata) const {
  return config_.full_cudagraph && metadata.num_prefills == 0 &&
         metadata.num_decodes <= decode_cudagraph_max_bs_;
}

}  // namespace hybridscope
