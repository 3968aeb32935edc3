#include "core/metadata/mamba_decode_buffers.h"

#include <algorithm>
#include <string>

#include "core/base/math.h"
#include "core/metadata/builder_policies.h"

namespace hybridscope {
namespace {

// Can `source` be copied into the first n rows of `target`: does it have n rows, or one to
// broadcast? Metadata of an earlier build views `target` itself: a row is not broadcast onto its
// own memory.
Status check_copy(const char* name, const TensorView<std::int32_t>& source, std::int32_t n,
                  const PersistentBuffer<std::int32_t>& target) {
  if (!source.present) return invalid_input(std::string(name) + " is not given");
  const bool broadcast = source.rows == 1 && source.data != target.values.data();
  if (source.rows != n && !broadcast)
    return invalid_input(std::string(name) + " has " + std::to_string(source.rows) +
                         " rows, the persistent array takes " + std::to_string(n));
  return Ok{};
}

// Copies or broadcasts `source`, which may be a view of `target`, into the first n rows.
void copy_head(const TensorView<std::int32_t>& source, std::int32_t n,
               PersistentBuffer<std::int32_t>& target) {
  if (source.rows == n)
    std::copy_n(source.data, source.data == target.values.data() ? 0 : n, target.values.data());
  else
    std::fill_n(target.values.data(), n, source.data[0]);
}

PersistentBuffer<std::int32_t> make_state_indices(const MambaBuilderConfig& config,
                                                  bool cuts_to_rows, std::int32_t rows) {
  const std::int32_t cols = config.mamba_cache_mode == MambaCacheMode::all
                                ? cdiv(config.max_model_len, config.block_size) +
                                      (cuts_to_rows ? config.num_speculative_blocks : 0)
                                : 1 + config.num_spec;
  return PersistentBuffer<std::int32_t>::matrix_of(rows, cols, kNeverWritten);
}

}  // namespace

MambaDecodeBuffers::MambaDecodeBuffers(const MambaBuilderConfig& config,
                                       AllModeArrays all_mode_arrays, std::int32_t rows)
    : all_mode_(config.mamba_cache_mode == MambaCacheMode::all),
      spec_decode_(config.num_spec > 0),
      cuts_to_rows_(all_mode_arrays != AllModeArrays::cut_to_tokens),
      state_indices_tensor_d_(make_state_indices(config, cuts_to_rows_, rows)) {
  const auto vector = PersistentBuffer<std::int32_t>::vector_of;
  if (spec_decode_) decode_num_accepted_tokens_ = vector(rows, kNeverWritten);
  if (all_mode_) {
    block_idx_last_scheduled_token_ = vector(rows, kNeverWritten);
    block_idx_last_computed_token_ = vector(rows, kNeverWritten);
  }
}

MambaPersistentViews MambaDecodeBuffers::views() const {
  const std::int32_t rows = state_indices_tensor_d_.rows;
  MambaPersistentViews views{.state_indices_tensor_d = state_indices_tensor_d_.head(rows)};
  if (spec_decode_) views.num_accepted_tokens = decode_num_accepted_tokens_.head(rows);
  if (all_mode_) {
    views.block_idx_last_scheduled_token = block_idx_last_scheduled_token_.head(rows);
    views.block_idx_last_computed_token = block_idx_last_computed_token_.head(rows);
  }
  return views;
}

Status MambaDecodeBuffers::check(const BlockTableWindow& window, MissingCounts missing_counts,
                                 const MambaMetadata& metadata) const {
  const std::int32_t n = metadata.num_decodes;
  const std::int32_t cols = state_indices_tensor_d_.cols;
  const std::int32_t width = all_mode_ ? window.width : std::min(window.width, cols);
  if (width != cols && width != 1)
    return invalid_input("block table gives " + std::to_string(width) +
                         " columns, the persistent array has " + std::to_string(cols));
  if (spec_decode_ &&
      (missing_counts == MissingCounts::refused || metadata.num_accepted_tokens.present)) {
    if (!metadata.query_start_loc_d.present)
      return invalid_input("no decode rows in a speculative batch for the full CUDA graph");
    if (auto s = check_copy("num_accepted_tokens", metadata.num_accepted_tokens, n,
                            decode_num_accepted_tokens_);
        !s)
      return s;
  }
  if (!all_mode_) return Ok{};
  if (!metadata.block_idx_last_scheduled_token.present ||
      !metadata.block_idx_last_computed_token.present)
    return invalid_input("metadata has no block indices of mode all");
  if (auto s = check_copy("block_idx_last_scheduled_token",
                          slice_head(metadata.block_idx_last_scheduled_token, n), n,
                          block_idx_last_scheduled_token_);
      !s)
    return s;
  return check_copy("block_idx_last_computed_token",
                    slice_head(metadata.block_idx_last_computed_token, n), n,
                    block_idx_last_computed_token_);
}

// The reference pads the rows from num_decodes to num_reqs, but there are none: without prefills
// every row is a decode, and a padding row keeps its block-table row.
void MambaDecodeBuffers::write(const BlockTableWindow& window, MambaMetadata& metadata) {
  const std::int32_t n = metadata.num_decodes;
  const std::int32_t cols = state_indices_tensor_d_.cols;
  if (window.width == 1 && cols > 1) {
    for (std::int32_t r = 0; r < n; ++r)
      std::fill_n(state_indices_tensor_d_.row(r), cols, *window.row(r));
  } else {
    copy_window_rows(window, {.count = n, .width = cols}, state_indices_tensor_d_.values.data());
  }
  metadata.state_indices_tensor_d = state_indices_tensor_d_.head(n);
  if (spec_decode_ && metadata.num_accepted_tokens.present) {
    copy_head(metadata.num_accepted_tokens, n, decode_num_accepted_tokens_);
    metadata.num_accepted_tokens = decode_num_accepted_tokens_.head(n);
  }
  if (!all_mode_) return;
  copy_head(slice_head(metadata.block_idx_last_scheduled_token, n), n,
            block_idx_last_scheduled_token_);
  copy_head(slice_head(metadata.block_idx_last_computed_token, n), n,
            block_idx_last_computed_token_);
  // Cut to tokens, with several tokens a row the views include stale rows past the batch.
  const std::int32_t elements = cuts_to_rows_ ? n : metadata.num_decode_tokens;
  metadata.block_idx_last_scheduled_token = block_idx_last_scheduled_token_.head(elements);
  metadata.block_idx_last_computed_token = block_idx_last_computed_token_.head(elements);
}

}  // namespace hybridscope
