// States that prefills store inside themselves, as the layers are told (semantics:
// checkpoint-metadata; vLLM MambaPrefillCheckpointMetadata).
#pragma once

#include <cstdint>

#include "core/base/tensor_view.h"

namespace hybridscope {

// Views of arrays that a CheckpointMetadataBuilder owns; absent if no row stores a state.
struct CheckpointMetadata {
  TensorView<std::int32_t> checkpoint_offsets{};  // [rows] tokens of the row before it; 0: none
  TensorView<std::int32_t> state_indices{};       // [rows] block that gets it; 0: none
  // Where state_indices comes from, for the table of another group; not handed to the layers.
  TensorView<std::int32_t> request_rows{};  // [rows] rows of the block table
  TensorView<std::int32_t> block_cols{};    // [rows] its columns; -1: none
};

}  // namespace hybridscope
