// The memory layout of a model's recurrent state: `num_buffers` buffers of num_blocks pages
// each. Buffer i serves layer i of every group, as one block id belongs to one group at a time. A
// page begins with the layer's states, one right after the other; its rest is padding (vLLM
// v1/worker/gpu_model_runner.py, _reshape_kv_cache_tensors). Also the tensors in that memory, and
// their flattened list for fused kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/base/tensor_view.h"
#include "core/model/kv_cache_spec.h"
#include "core/model/state_shape.h"
#include "core/state/state_copy.h"

namespace hybridscope {

// Where the recurrent state of a model is: one strided tensor per layer and kind of state, as the
// engine hands them out. Plain descriptions that own no bytes.

// [num_blocks, ...]. With page padding, or when several states share a page, stride[0] is the page.
struct StateTensor {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> stride;  // elements, one per dimension
  std::int32_t elem_size = 0;        // bytes

  // Logical elements of one block.
  std::int64_t elements_per_block() const {
    std::int64_t count = 1;
    for (std::size_t i = 1; i < shape.size(); ++i) count *= shape[i];
    return count;
  }
  std::int64_t block_stride_bytes() const { return stride.at(0) * elem_size; }
};

// The states of one recurrent layer, in the order of the model's state shapes.
struct MambaLayerStates {
  std::int32_t group_index = 0;  // into MambaStateTensors::mamba_group_ids
  std::vector<StateTensor> states;
};

struct MambaStateTensors {
  ConvStateLayout conv_state_layout = ConvStateLayout::SD;
  std::int32_t block_size = 0;                // of the mamba groups' common spec
  std::vector<std::int32_t> mamba_group_ids;  // KV cache group numbers, ascending
  // One per state of a layer; nullopt: a copy function that is neither of the two known ones.
  std::vector<std::optional<StateKind>> state_kinds;
  std::vector<MambaLayerStates> layers;  // in order of group, then of layer

  std::int32_t num_states() const {
    return static_cast<std::int32_t>(layers.size() * state_kinds.size());
  }
};

// Flattened layout metadata of all states, one entry per (layer, state): what a fused copy kernel
// reads instead of tensors (vLLM v1/worker/mamba_utils.py, MambaSpecDecodeGPUContext).

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

struct StateMemory {
  MambaStateTensors tensors;                // every layer of every mamba group
  StateLayout layout;                       // of these tensors
  std::vector<std::int32_t> layer_buffers;  // [layers] the buffer that holds a layer
  std::vector<std::int64_t> state_offsets;  // [num_state_types] bytes from the start of a page
  std::int32_t num_buffers = 0;
  std::int32_t num_blocks = 0;
  std::int64_t page_size_bytes = 0;
  std::int32_t conv_kernel = 0;  // W

  std::int64_t buffer_bytes() const { return num_blocks * page_size_bytes; }
  std::int64_t total_bytes() const { return num_buffers * buffer_bytes(); }
};

struct StateMemoryOptions {
  ConvStateLayout conv_state_layout = ConvStateLayout::SD;
  std::int32_t conv_kernel = 4;  // W
  std::int32_t max_layers = 0;   // of each group, its first ones; 0: all
};

// Error: no mamba group, groups whose specs differ, states that do not fit their page, a state that
// does not begin at a multiple of its element size, sizes beyond 2^62 bytes.
Result<StateMemory> make_state_memory(const KVCacheConfig& config,
                                      const StateMemoryOptions& options);

// The recurrent groups of a KV cache, which all have one spec.

struct MambaGroups {
  std::vector<std::int32_t> group_ids;  // KV cache group numbers, ascending
  MambaSpec spec;
};

// get_mamba_groups (semantics: get-mamba-groups). Errors: no group with a MambaSpec, or different
// ones.
Result<MambaGroups> get_mamba_groups(const KVCacheConfig& kv_cache_config);

}  // namespace hybridscope
