// Tells which states prefills store inside themselves (semantics: checkpoint-metadata; vLLM
// layers/mamba/checkpoint.py, MambaPrefillCheckpointBuilder).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/base/tensor_view.h"
#include "core/metadata/checkpoint_metadata.h"
#include "core/metadata/common_attention_metadata.h"
#include "core/metadata/mamba_builder_config.h"

namespace hybridscope {

// Results are valid until the next call.
class CheckpointMetadataBuilder {
 public:
  explicit CheckpointMetadataBuilder(const MambaBuilderConfig& config)
      : settings_(config.checkpoint), block_size_(config.block_size) {}

  // The metadata of the rows from `first_row` on, without those whose element in `left_out`
  // ([num_reqs] or empty) is set. Errors: a block column outside the table.
  Result<CheckpointMetadata> build(const CommonAttentionMetadata& common, std::int32_t first_row,
                                   std::span<const std::uint8_t> left_out);

  // The metadata of another group's builder with the blocks of this group's table.
  // Errors: a table without one of its rows or columns.
  Result<CheckpointMetadata> with_table(const CheckpointMetadata& metadata,
                                        const TensorView<std::int32_t>& block_table);

 private:
  // The blocks of the table at the rows and columns.
  Status gather(const TensorView<std::int32_t>& block_table,
                const TensorView<std::int32_t>& request_rows,
                const TensorView<std::int32_t>& block_cols);

  CheckpointSettings settings_;
  std::int32_t block_size_;
  std::vector<std::int32_t> offsets_;
  std::vector<std::int32_t> request_rows_;
  std::vector<std::int32_t> block_cols_;
  std::vector<std::int32_t> state_indices_;
};

}  // namespace hybridscope
