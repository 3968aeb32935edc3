#include "core/metadata/gdn_builder.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "core/metadata/builder_policies.h"

namespace hybridscope {
namespace {

std::int32_t max_batch_size(const MambaBuilderConfig& config) {
  const std::int32_t tokens = config.max_num_seqs * (config.num_spec + 1);
  return std::min(tokens, config.max_cudagraph_capture_size.value_or(tokens));
}

Status check_inputs(const GdnBuildInputs& inputs) {
  const CommonAttentionMetadata& common = inputs.common;
  const auto rows = static_cast<std::size_t>(common.num_reqs);
  if (common.num_reqs < 0 || common.num_actual_tokens < 0 ||
      common.query_start_loc.size() != rows + 1 || common.query_start_loc.front() != 0 ||
      common.seq_lens.size() != rows)
    return invalid_input("query_start_loc has " + std::to_string(common.query_start_loc.size()) +
                         " entries (from 0 expected) and seq_lens " +
                         std::to_string(common.seq_lens.size()) + " for " +
                         std::to_string(common.num_reqs) + " requests");
  if (inputs.row_classes.spec_batch && inputs.row_classes.spec_sequence_masks.size() != rows)
    return invalid_input("spec_sequence_masks has " +
                         std::to_string(inputs.row_classes.spec_sequence_masks.size()) +
                         " entries for " + std::to_string(common.num_reqs) + " requests");
  return Ok{};
}

Error bad_table_rows(const BlockTableWindow& window, std::int32_t num_reqs) {
  return invalid_input("block table has " + std::to_string(window.rows) + " rows for " +
                       std::to_string(num_reqs) + " requests");
}

// Rows and tokens of a spec batch. Under speculation a non-spec decode counts as a prefill, which
// gives the same result; rows without tokens are padding and are not counted.
Status count_spec_batch(const GdnBuildInputs& inputs, GdnMetadata& metadata) {
  const std::uint8_t* masks = inputs.row_classes.spec_sequence_masks.data();
  const std::int32_t* query_start_loc = inputs.common.query_start_loc.data();
  const std::int32_t num_reqs = inputs.common.num_reqs;
  std::int32_t spec_rows = 0, spec_tokens = 0, other_rows = 0, shortest = 0;
  for (std::int32_t r = 0; r < num_reqs; ++r) {
    const std::int32_t len = query_start_loc[r + 1] - query_start_loc[r];
    const bool spec = masks[r] != 0;
    spec_rows += spec ? 1 : 0;
    spec_tokens += spec ? len : 0;
    other_rows += !spec && len != 0 ? 1 : 0;
    shortest = std::min(shortest, len);
  }
  if (shortest < 0) return invalid_input("a row has " + std::to_string(shortest) + " tokens");
  metadata.num_spec_decodes = spec_rows;
  metadata.num_spec_decode_tokens = spec_tokens;
  metadata.num_prefills = other_rows;
  metadata.num_prefill_tokens = query_start_loc[num_reqs] - query_start_loc[0] - spec_tokens;
  return Ok{};
}

// Tokens of each spec row, -1 if they differ or there are none.
std::int32_t uniform_length(const GdnBuildInputs& inputs) {
  std::int32_t length = -1;
  for (std::int32_t row = 0; row < inputs.common.num_reqs; ++row) {
    if (inputs.row_classes.spec_sequence_masks[static_cast<std::size_t>(row)] == 0) continue;
    const std::int32_t own = query_len(inputs.common, row);
    if (own == 0 || (length >= 0 && own != length)) return -1;
    length = own;
  }
  return length;
}

// Is every row a decode or a prefill? Rows without tokens at the end may be left out.
bool covers_rows(const CommonAttentionMetadata& common, const BatchSplit& split) {
  const std::int32_t rows = split.num_decodes + split.num_prefills;
  if (split.num_decodes < 0 || split.num_prefills < 0 || rows > common.num_reqs) return false;
  return rows == common.num_reqs ||
         (split.num_prefills > 0 &&
          common.query_start_loc[static_cast<std::size_t>(rows)] == common.query_start_loc.back());
}

}  // namespace

GdnMetadataBuilder::GdnMetadataBuilder(const MambaBuilderConfig& config)
    : config_(config),
      gather_{.mamba_cache_mode = config.mamba_cache_mode,
              .block_size = ReciprocalDivider(config.block_size),
              .num_speculative_blocks = config.num_speculative_blocks},
      decode_cudagraph_max_bs_(max_batch_size(config)),
      reorder_batch_threshold_(hybridscope::reorder_batch_threshold(config)),
      buffers_(config, decode_cudagraph_max_bs_),
      checkpoints_(config) {}

std::span<const std::string_view> GdnMetadataBuilder::replayed_arrays(
    MambaCacheMode /*mamba_cache_mode*/, std::int32_t num_spec) {
  static constexpr std::array<std::string_view, 5> kSpec = {
      "spec_state_indices_tensor", "spec_sequence_masks", "spec_token_indx", "spec_query_start_loc",
      "num_accepted_tokens"};
  static constexpr std::array<std::string_view, 2> kNonSpec = {"non_spec_state_indices_tensor",
                                                               "non_spec_query_start_loc"};
  if (num_spec > 0) return kSpec;
  return kNonSpec;
}

Result<GdnMetadataBuilder> GdnMetadataBuilder::create(const MambaBuilderConfig& config,
                                                      const PolicySet&) {
  if (auto status = check_config(config); !status) return status.error();
  return GdnMetadataBuilder(config);
}

Result<GdnMetadata> GdnMetadataBuilder::build(const GdnBuildInputs& inputs) {
  refreshed_ = Refreshed::none;
  if (auto status = check_inputs(inputs); !status) return status.error();
  const CommonAttentionMetadata& common = inputs.common;
  const auto window = find_block_table_window(
      {.config = gather_, .block_table = common.block_table_tensor, .seq_lens = common.seq_lens},
      {grown(starts_, common.num_reqs), common.seq_lens.size()});
  if (!window) return window.error();
  const auto masks = inputs.row_classes.spec_sequence_masks;
  const bool any_spec_row =
      inputs.row_classes.spec_batch &&
      std::any_of(masks.begin(), masks.end(), [](std::uint8_t mask) { return mask != 0; });
  return any_spec_row ? build_spec(inputs, window.value()) : build_non_spec(inputs, window.value());
}

Result<GdnMetadata> GdnMetadataBuilder::build_for_cudagraph_capture(
    const CommonAttentionMetadata& common, const PolicySet& policies) {
  refreshed_ = Refreshed::none;
  if (common.num_reqs > decode_cudagraph_max_bs_ ||
      common.num_actual_tokens > decode_cudagraph_max_bs_)
    return invalid_input("capture of " + std::to_string(common.num_reqs) + " rows and " +
                         std::to_string(common.num_actual_tokens) + " tokens (expected at most " +
                         std::to_string(decode_cudagraph_max_bs_) + " of each)");
  const auto rows = static_cast<std::int32_t>(common.query_start_loc.size()) - 1;
  if (rows < 0 || rows != common.num_reqs)
    return invalid_input("query_start_loc has " + std::to_string(rows + 1) + " entries for " +
                         std::to_string(common.num_reqs) + " requests");
  std::int32_t* accepted = grown(capture_counts_, 2 * std::int64_t{rows});
  std::int32_t* drafts = accepted + rows;
  for (std::int32_t r = 0; r < rows; ++r) {
    accepted[r] = query_len(common, r);
    drafts[r] = accepted[r] - 1;
  }
  const auto classes = classify_gdn_rows_by_drafts(
      common,
      {.num_spec = config_.num_spec,
       .num_decode_draft_tokens = vector_view<std::int32_t>(drafts, rows),
       .batch = policies.get<GdnBatch>()},
      {grown(capture_masks_, rows), static_cast<std::size_t>(rows)});
  if (!classes) return classes.error();
  return build({.common = common,
                .num_accepted_tokens = vector_view<std::int32_t>(accepted, rows),
                .row_classes = classes.value(),
                .policies = policies});
}

Result<GdnMetadata> GdnMetadataBuilder::build_non_spec(const GdnBuildInputs& inputs,
                                                       const BlockTableWindow& window) {
  const CommonAttentionMetadata& common = inputs.common;
  const BatchSplit& split = inputs.row_classes.split;
  if (!covers_rows(common, split))
    return invalid_input("split of " + std::to_string(split.num_decodes) + " decodes and " +
                         std::to_string(split.num_prefills) + " prefills for " +
                         std::to_string(common.num_reqs) + " rows");
  if (window.width == 0) return invalid_input("block table has no columns");
  GdnMetadata metadata{.num_prefills = split.num_prefills,
                       .num_prefill_tokens = split.num_prefill_tokens,
                       .num_decodes = split.num_decodes,
                       .num_decode_tokens = split.num_decode_tokens,
                       .num_actual_tokens = common.num_actual_tokens};
  if (config_.full_cudagraph && split.num_prefills == 0) {
    if (split.num_decodes == 0)
      return invalid_input("an empty batch would take the graph branch of spec rows, but has none");
    if (split.num_decodes <= decode_cudagraph_max_bs_) {
      if (window.rows != split.num_decodes && window.rows != 1)
        return bad_table_rows(window, split.num_decodes);
      buffers_.write_non_spec(inputs, window, metadata);
      refreshed_ = Refreshed::non_spec;
      return metadata;
    }
  }
  // The first column of the whole table: outside a graph nothing ties its rows to num_reqs.
  std::int32_t* states = grown(non_spec_state_indices_, window.rows);
  copy_window_rows(window, {.count = window.rows}, states);
  metadata.non_spec_state_indices_tensor = vector_view<std::int32_t>(states, window.rows);
  metadata.non_spec_query_start_loc =
      vector_view(common.query_start_loc.data(), common.num_reqs + 1);
  if (split.num_prefills == 0) return metadata;
  std::uint8_t* has_initial_state = grown(has_initial_state_, common.num_reqs);
  for (std::int32_t r = 0; r < common.num_reqs; ++r)
    has_initial_state[r] = num_computed_tokens(common, r) > 0 ? 1 : 0;
  metadata.has_initial_state = vector_view<std::uint8_t>(has_initial_state, common.num_reqs);
  if (auto status = set_prefill_fields(inputs, common.query_start_loc, metadata); !status)
    return status.error();
  return metadata;
}

Result<GdnMetadata> GdnMetadataBuilder::build_spec(const GdnBuildInputs& inputs,
                                                   const BlockTableWindow& window) {
  if (window.rows != inputs.common.num_reqs) return bad_table_rows(window, inputs.common.num_reqs);
  GdnMetadata metadata{.num_actual_tokens = inputs.common.num_actual_tokens};
  if (auto counted = count_spec_batch(inputs, metadata); !counted) return counted.error();
  if (!inputs.num_accepted_tokens.present ||
      inputs.num_accepted_tokens.rows != inputs.common.num_reqs)
    return invalid_input("a spec batch of " + std::to_string(inputs.common.num_reqs) +
                         " rows needs as many num_accepted_tokens, got " +
                         (inputs.num_accepted_tokens.present
                              ? std::to_string(inputs.num_accepted_tokens.rows)
                              : "none"));
  if (inputs.policies.is(GdnBatch::first_chunks_as_prefills))
    metadata.uniform_spec_sequence_length = uniform_length(inputs);
  metadata.spec_sequence_masks =
      vector_view(inputs.row_classes.spec_sequence_masks.data(), inputs.common.num_reqs);
  const Status status = metadata.num_prefills == 0 ? finish_pure_spec(inputs, window, metadata)
                                                   : finish_mixed_spec(inputs, window, metadata);
  if (!status) return status.error();
  return metadata;
}

Status GdnMetadataBuilder::finish_pure_spec(const GdnBuildInputs& inputs,
                                            const BlockTableWindow& window, GdnMetadata& metadata) {
  const std::int32_t n = metadata.num_spec_decodes;
  const auto padded_tokens = std::int64_t{n} * (config_.num_spec + 1);
  const auto tokens = static_cast<std::int32_t>(
      std::min(padded_tokens, std::int64_t{inputs.common.query_start_loc.back()}));
  std::int32_t* token_indx = grown(spec_tokens_, tokens);
  metadata.spec_token_indx = vector_view<std::int32_t>(token_indx, tokens);
  metadata.non_spec_token_indx = vector_view<std::int32_t>(nullptr, 0);
  if (config_.full_cudagraph && n <= decode_cudagraph_max_bs_ &&
      metadata.num_spec_decode_tokens <= decode_cudagraph_max_bs_) {
    if (auto status = buffers_.check_spec(window); !status) return status;
    buffers_.write_spec(inputs, window, metadata);
    refreshed_ = Refreshed::spec;
    return Ok{};
  }
  std::iota(token_indx, token_indx + tokens, 0);
  set_spec_rows(inputs, window, metadata);
  // Padding rows come last, so the offsets of the spec rows are the batch's first ones.
  metadata.spec_query_start_loc = vector_view(inputs.common.query_start_loc.data(), n + 1);
  return Ok{};
}

Status GdnMetadataBuilder::finish_mixed_spec(const GdnBuildInputs& inputs,
                                             const BlockTableWindow& window,
                                             GdnMetadata& metadata) {
  if (window.width == 0) return invalid_input("block table has no columns");
  const CommonAttentionMetadata& common = inputs.common;
  const auto masks = inputs.row_classes.spec_sequence_masks;
  const std::int32_t num_spec_rows = metadata.num_spec_decodes;
  const std::int32_t num_other_rows = common.num_reqs - num_spec_rows;
  set_spec_rows(inputs, window, metadata);
  set_mixed_token_indices(inputs, metadata);

  std::int32_t* spec_offsets = grown(spec_query_start_loc_, num_spec_rows + 1);
  std::int32_t* other_offsets = grown(non_spec_query_start_loc_, num_other_rows + 1);
  std::int32_t* other_states = grown(non_spec_state_indices_, num_other_rows);
  std::uint8_t* has_initial_state = grown(has_initial_state_, num_other_rows);
  metadata.spec_query_start_loc = vector_view<std::int32_t>(spec_offsets, num_spec_rows + 1);
  metadata.non_spec_query_start_loc = vector_view<std::int32_t>(other_offsets, num_other_rows + 1);
  metadata.non_spec_state_indices_tensor = vector_view<std::int32_t>(other_states, num_other_rows);
  metadata.has_initial_state = vector_view<std::uint8_t>(has_initial_state, num_other_rows);
  *spec_offsets = 0;
  *other_offsets = 0;
  for (std::int32_t r = 0; r < common.num_reqs; ++r) {
    const std::int32_t len = query_len(common, r);
    if (masks[static_cast<std::size_t>(r)] != 0) {
      spec_offsets[1] = spec_offsets[0] + len;
      ++spec_offsets;
    } else {
      other_offsets[1] = other_offsets[0] + len;
      ++other_offsets;
      *other_states++ = *window.row(r);
      *has_initial_state++ = num_computed_tokens(common, r) > 0 ? 1 : 0;
    }
  }
  return set_prefill_fields(
      inputs, {non_spec_query_start_loc_.data(), static_cast<std::size_t>(num_other_rows) + 1},
      metadata);
}

void GdnMetadataBuilder::set_spec_rows(const GdnBuildInputs& inputs, const BlockTableWindow& window,
                                       GdnMetadata& metadata) {
  const std::int32_t n = metadata.num_spec_decodes;
  const std::int32_t width = std::min(window.width, config_.num_spec + 1);
  std::int32_t* states = grown(spec_state_indices_, std::int64_t{n} * width);
  std::int32_t* accepted = grown(accepted_, n);
  copy_spec_rows(inputs, window,
                 {.width = width, .state_indices = states, .num_accepted_tokens = accepted});
  metadata.spec_state_indices_tensor = matrix_view<std::int32_t>(states, n, width);
  metadata.num_accepted_tokens = vector_view<std::int32_t>(accepted, n);
}

// Token positions of the non-spec and of the spec rows, each in batch order: the reference gets
// them from one stable argsort over all tokens.
void GdnMetadataBuilder::set_mixed_token_indices(const GdnBuildInputs& inputs,
                                                 GdnMetadata& metadata) {
  const auto masks = inputs.row_classes.spec_sequence_masks;
  std::int32_t* spec = grown(spec_tokens_, metadata.num_spec_decode_tokens);
  std::int32_t* other = grown(non_spec_tokens_, metadata.num_prefill_tokens);
  metadata.token_indx_dtype = TokenIndxDtype::int64;
  metadata.spec_token_indx = vector_view<std::int32_t>(spec, metadata.num_spec_decode_tokens);
  metadata.non_spec_token_indx = vector_view<std::int32_t>(other, metadata.num_prefill_tokens);
  std::int32_t position = 0;
  for (std::int32_t r = 0; r < inputs.common.num_reqs; ++r) {
    const std::int32_t len = query_len(inputs.common, r);
    std::int32_t*& out = masks[static_cast<std::size_t>(r)] != 0 ? spec : other;
    std::iota(out, out + len, position);
    out += len;
    position += len;
  }
}

// GdnBatch: decodes of a batch without spec rows run by themselves; the other rows are given once
// more without them.
void GdnMetadataBuilder::set_prefill_rows(GdnMetadata& metadata) {
  const std::int32_t first = metadata.num_decodes;
  const TensorView<std::int32_t>& starts = metadata.non_spec_query_start_loc;
  const std::int32_t rows = starts.rows - 1 - first;
  const auto tail = [&](const auto& all) { return vector_view(all.data + first, rows); };
  metadata.prefill_state_indices = tail(metadata.non_spec_state_indices_tensor);
  metadata.prefill_has_initial_state = tail(metadata.has_initial_state);
  metadata.prefill_query_start_loc = starts;
  if (first == 0) return;
  std::int32_t* own = grown(prefill_query_start_loc_, rows + 1);
  for (std::int32_t row = 0; row <= rows; ++row)
    own[row] = starts.at(first + row) - metadata.num_decode_tokens;
  metadata.prefill_query_start_loc = vector_view<std::int32_t>(own, rows + 1);
}

Status GdnMetadataBuilder::set_prefill_fields(
    const GdnBuildInputs& inputs, std::span<const std::int32_t> non_spec_query_start_loc,
    GdnMetadata& metadata) {
  std::span<const std::int32_t> chunked = non_spec_query_start_loc;
  if (!inputs.policies.is(GdnBatch::padded_to_tokens)) {
    set_prefill_rows(metadata);
    chunked = {metadata.prefill_query_start_loc.data,
               static_cast<std::size_t>(metadata.prefill_query_start_loc.rows)};
  }
  const auto checkpoint =
      checkpoints_.build(inputs.common, 0, inputs.row_classes.spec_sequence_masks);
  if (!checkpoint) return checkpoint.error();
  metadata.checkpoint = checkpoint.value();
  const auto indices = fla_chunks_.prepare_chunk_indices(chunked, kFlaChunkSize);
  if (!indices) return indices.error();
  const auto offsets = fla_chunks_.prepare_chunk_offsets(chunked, kFlaChunkSize);
  if (!offsets) return offsets.error();
  const auto conv1d = conv1d_.compute(non_spec_query_start_loc);
  if (!conv1d) return conv1d.error();
  metadata.chunk_indices = indices.value();
  metadata.chunk_offsets = offsets.value();
  metadata.conv1d = conv1d.value();
  return Ok{};
}

}  // namespace hybridscope
