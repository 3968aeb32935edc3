// The persistent buffers of a GDN builder: what a replayed graph of spec rows, or of non-spec
// decode rows, reads (semantics: gdn-persistent-buffers; vLLM, the end of
// GDNAttentionMetadataBuilder.build).
#pragma once

#include <cstdint>

#include "core/base/policy_set.h"
#include "core/base/result.h"
#include "core/base/tensor_view.h"
#include "core/metadata/block_table_gather.h"
#include "core/metadata/gdn_metadata.h"
#include "core/metadata/gdn_row_classes.h"
#include "core/metadata/mamba_builder_config.h"
#include "core/metadata/persistent_buffer.h"

namespace hybridscope {

// All rows of the buffers. kNeverWritten (mask: 0): no build has written the element yet.
struct GdnPersistentViews {
  TensorView<std::int32_t> spec_state_indices_tensor{};      // [rows, 1 + K]
  TensorView<std::int32_t> non_spec_state_indices_tensor{};  // [rows]
  TensorView<std::uint8_t> spec_sequence_masks{};            // [rows]
  TensorView<std::int32_t> spec_token_indx{};                // [rows * (1 + K)]
  TensorView<std::int32_t> spec_query_start_loc{};           // [rows + 1]
  TensorView<std::int32_t> non_spec_query_start_loc{};       // [rows + 1]
  TensorView<std::int32_t> num_accepted_tokens{};            // [rows]
};

// Writes the block ids ([spec rows, width]) and accepted counts ([spec rows]) of the spec rows.
// Requires: masks and counts for every row of the batch, width at most the window's.
struct SpecRowTarget {
  std::int32_t width = 1;
  std::int32_t* state_indices = nullptr;
  std::int32_t* num_accepted_tokens = nullptr;
};
void copy_spec_rows(const GdnBuildInputs& inputs, BlockTableWindow window, SpecRowTarget target);

class GdnDecodeBuffers {
 public:
  // `rows` = decode_cudagraph_max_bs.
  GdnDecodeBuffers(const MambaBuilderConfig& config, std::int32_t rows);

  // Does the block table of a pure spec batch fit? Error: fewer than 1 + K columns, unless there is
  // exactly one, which is broadcast.
  Status check_spec(const BlockTableWindow& window) const;

  // Writes the spec rows and the padding up to num_actual_tokens rows (GdnBatch: or num_reqs), and
  // points `metadata` to them. Requires: check_spec() is ok, counts of `metadata` set and within
  // the rows.
  void write_spec(const GdnBuildInputs& inputs, const BlockTableWindow& window,
                  GdnMetadata& metadata);

  // Writes the arrays of a batch of non-spec decodes. Requires: as many decodes as rows in the
  // window, or one row, which is broadcast.
  void write_non_spec(const GdnBuildInputs& inputs, const BlockTableWindow& window,
                      GdnMetadata& metadata);

  // The state indices alone, of a batch whose other arrays another group has written: of its first
  // `n` rows, with padding up to `padded`. Requires: check_spec() is ok, n rows in the window.
  TensorView<std::int32_t> write_spec_states(const BlockTableWindow& window, std::int32_t n,
                                             std::int32_t padded);
  // Requires: n rows in the window, or one, which is broadcast.
  TensorView<std::int32_t> write_non_spec_states(const BlockTableWindow& window, std::int32_t n,
                                                 std::int32_t padded);

  GdnPersistentViews views() const;

 private:
  // `n` rows of `width` columns are there.
  TensorView<std::int32_t> pad_spec_states(std::int32_t width, std::int32_t n, std::int32_t padded);

  PersistentBuffer<std::int32_t> spec_state_indices_tensor_;
  PersistentBuffer<std::int32_t> non_spec_state_indices_tensor_;
  PersistentBuffer<std::uint8_t> spec_sequence_masks_;
  PersistentBuffer<std::int32_t> spec_token_indx_;
  PersistentBuffer<std::int32_t> spec_query_start_loc_;
  PersistentBuffer<std::int32_t> non_spec_query_start_loc_;
  PersistentBuffer<std::int32_t> num_accepted_tokens_;
};

}  // namespace hybridscope
