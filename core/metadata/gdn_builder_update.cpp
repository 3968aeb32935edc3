// Groups of one spec share a build: the later ones exchange the state indices.
#include <string>

#include "core/metadata/gdn_builder.h"

namespace hybridscope {

Result<GdnMetadata> GdnMetadataBuilder::update_block_table(const GdnMetadata& metadata,
                                                           const CommonAttentionMetadata& common) {
  refreshed_ = Refreshed::none;
  const auto window = find_block_table_window(
      {.config = gather_, .block_table = common.block_table_tensor, .seq_lens = common.seq_lens},
      {grown(starts_, common.num_reqs), common.seq_lens.size()});
  if (!window) return window.error();
  if (window.value().rows != common.num_reqs)
    return invalid_input("block table has " + std::to_string(window.value().rows) + " rows for " +
                         std::to_string(common.num_reqs) + " requests");
  if (window.value().width == 0) return invalid_input("block table has no columns");
  GdnMetadata updated = metadata;
  const auto checkpoint = checkpoints_.with_table(metadata.checkpoint, common.block_table_tensor);
  if (!checkpoint) return checkpoint.error();
  updated.checkpoint = checkpoint.value();
  const Status status = metadata.num_spec_decodes > 0
                            ? update_spec_states(window.value(), updated)
                            : update_non_spec_states(window.value(), updated);
  if (!status) return status.error();
  return updated;
}

Status GdnMetadataBuilder::update_spec_states(const BlockTableWindow& window,
                                              GdnMetadata& metadata) {
  const std::int32_t n = metadata.num_spec_decodes;
  if (metadata.num_prefills == 0 && config_.full_cudagraph && n <= decode_cudagraph_max_bs_ &&
      metadata.num_spec_decode_tokens <= decode_cudagraph_max_bs_) {
    if (auto status = buffers_.check_spec(window); !status) return status;
    metadata.spec_state_indices_tensor =
        buffers_.write_spec_states(window, n, metadata.spec_state_indices_tensor.rows);
    refreshed_ = Refreshed::spec;
    return Ok{};
  }
  const TensorView<std::uint8_t> masks = metadata.spec_sequence_masks;
  const std::int32_t width = metadata.spec_state_indices_tensor.cols;
  const std::int32_t others = metadata.non_spec_state_indices_tensor.rows;
  std::int32_t* spec = grown(spec_state_indices_, std::int64_t{n} * width);
  std::int32_t* other = grown(non_spec_state_indices_, others);
  metadata.spec_state_indices_tensor = matrix_view<std::int32_t>(spec, n, width);
  if (others > 0) metadata.non_spec_state_indices_tensor = vector_view<std::int32_t>(other, others);
  for (std::int32_t row = 0; row < masks.rows; ++row) {
    if (masks.at(row) != 0) {
      copy_window_rows(window, {.first = row, .count = 1, .width = width}, spec);
      spec += width;
    } else if (others > 0) {
      *other++ = *window.row(row);
    }
  }
  if (metadata.prefill_state_indices.present)
    metadata.prefill_state_indices = metadata.non_spec_state_indices_tensor;
  return Ok{};
}

Status GdnMetadataBuilder::update_non_spec_states(const BlockTableWindow& window,
                                                  GdnMetadata& metadata) {
  const std::int32_t rows = metadata.non_spec_state_indices_tensor.rows;
  if (metadata.num_prefills == 0 && config_.full_cudagraph &&
      metadata.num_decodes <= decode_cudagraph_max_bs_) {
    metadata.non_spec_state_indices_tensor =
        buffers_.write_non_spec_states(window, metadata.num_decodes, rows);
    refreshed_ = Refreshed::non_spec;
    return Ok{};
  }
  std::int32_t* states = grown(non_spec_state_indices_, window.rows);
  copy_window_rows(window, {.count = window.rows}, states);
  metadata.non_spec_state_indices_tensor = vector_view<std::int32_t>(states, window.rows);
  if (metadata.prefill_state_indices.present)
    metadata.prefill_state_indices = vector_view<std::int32_t>(states + metadata.num_decodes,
                                                               metadata.prefill_state_indices.rows);
  return Ok{};
}

}  // namespace hybridscope
