// Flattened layout metadata of all states, one entry per (layer, state): what a fused copy kernel
// reads instead of tensors (vLLM v1/worker/mamba_utils.py, MambaSpecDecodeGPUContext).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/base/tensor_view.h"
#include "core/state/state_copy.h"
#include "core/state/state_tensor.h"

namespace hybridscope {

// Flat state index = layer position * num_state_types + state position.
struct StateLayout {
  std::vector<std::int64_t> state_block_strides;   // [num_states] bytes
  std::vector<std::int32_t> state_elem_sizes;      // [num_states] bytes
  std::vector<std::int64_t> state_inner_sizes;     // [num_states] elements
  std::vector<std::int32_t> state_conv_widths;     // [num_states] 0: temporal
  std::vector<std::int32_t> state_group_indices;   // [num_states] into mamba_group_ids
  std::vector<std::int32_t> state_dim_row_count;   // [num_states] DS conv only, else 0
  std::vector<std::int64_t> state_dim_row_stride;  // [num_states] bytes, DS conv only, else 0
  std::vector<std::int64_t> state_num_blocks;      // [num_states] bounds of block ids, not in vLLM
  std::int64_t block_table_stride_req = 0;         // elements between two requests' rows
  std::int32_t num_layers = 0;
  std::int32_t num_state_types = 0;
  std::int32_t block_size = 0;
  std::vector<std::int32_t> mamba_group_ids;

  std::int32_t num_states() const { return num_layers * num_state_types; }
  StateGeometry geometry(std::int32_t state_index) const;
};

// initialize_from_forward_context. block_table_strides: elements between rows, one per mamba group.
// Errors: an unknown copy function, a conv state without 3 dimensions, a layer whose number of
// states differs from the number of kinds, not one table per group, tables of different strides.
Result<StateLayout> make_state_layout(const MambaStateTensors& tensors,
                                      std::span<const std::int64_t> block_table_strides);

// States in host memory, for kernels that are given bytes instead of a backend: those that
// recompute reference vectors.

// Bytes of each state tensor from element [0, 0, ...] on, by flat state index. Tensors of one page
// may overlap: each span runs to the end of its buffer.
using HostStateBytes = std::span<const std::span<std::byte>>;

// What a fused launch of mode align decides about and copies in.
struct HostStates {
  const StateLayout& layout;
  HostStateBytes bytes;  // [layout.num_states()]
  // One per mamba group, rows in batch order: [rows, layout.block_table_stride_req].
  std::span<const TensorView<std::int32_t>> block_tables;
};

}  // namespace hybridscope
