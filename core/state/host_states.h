// States in host memory, for kernels that are given bytes instead of a backend: those that
// recompute reference vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/tensor_view.h"
#include "core/state/state_layout.h"

namespace hybridscope {

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
