// The persistent buffers of a Mamba1/2 builder: what a replayed decode graph reads
// (semantics: mamba-persistent-buffers; vLLM _update_metadata_for_cudagraph_capture in
// mamba_attn.py).
#pragma once

#include <cstdint>

#include "core/base/policy_set.h"
#include "core/base/result.h"
#include "core/base/tensor_view.h"
#include "core/metadata/block_table_gather.h"
#include "core/metadata/mamba_builder_config.h"
#include "core/metadata/mamba_metadata.h"
#include "core/metadata/persistent_buffer.h"

namespace hybridscope {

enum class AllModeArrays : std::uint8_t;  // builder_policies.h
enum class MissingCounts : std::uint8_t;  // the same

// All rows of the buffers. kNeverWritten: no build has written the element yet.
struct MambaPersistentViews {
  TensorView<std::int32_t> state_indices_tensor_d{};          // [rows, 1 + K]; all: [rows, columns]
  TensorView<std::int32_t> num_accepted_tokens{};             // [rows], K > 0
  TensorView<std::int32_t> block_idx_last_scheduled_token{};  // [rows], all mode
  TensorView<std::int32_t> block_idx_last_computed_token{};   // [rows], all mode
};

class MambaDecodeBuffers {
 public:
  // `rows` = decode_cudagraph_max_bs.
  MambaDecodeBuffers(const MambaBuilderConfig& config, AllModeArrays all_mode_arrays,
                     std::int32_t rows);

  // Does a decode-only batch fit? Errors: a block table of another width (one column is
  // broadcast), accepted counts or block indices that are absent or of another size. Counts may be
  // absent unless MissingCounts::refused.
  Status check(const BlockTableWindow& window, MissingCounts missing_counts,
               const MambaMetadata& metadata) const;

  // Writes the first num_decodes rows and points `metadata` to them. Requires: check() is ok.
  void write(const BlockTableWindow& window, MambaMetadata& metadata);

  MambaPersistentViews views() const;

 private:
  bool all_mode_ = false;
  bool spec_decode_ = false;
  bool cuts_to_rows_ = false;  // AllModeArrays
  PersistentBuffer<std::int32_t> state_indices_tensor_d_;
  PersistentBuffer<std::int32_t> decode_num_accepted_tokens_;
  PersistentBuffer<std::int32_t> block_idx_last_scheduled_token_;
  PersistentBuffer<std::int32_t> block_idx_last_computed_token_;
};

}  // namespace hybridscope
