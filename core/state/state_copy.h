// One planned copy of state bytes, how a decision becomes one, and what it does to one state. A
// plan is values only: the owner of the bytes executes it. One body for the host and for kernels;
// 64-bit arithmetic for bytes.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/base/math.h"
#include "core/model/kv_cache_spec.h"
#include "core/state/state_ops.h"

namespace hybridscope {

// num_rows regions of row_bytes each, row_stride_bytes apart on both sides. The copy has memmove
// semantics as a whole: its source is read before its destination is written.
struct StateCopy {
  std::int32_t state_index = 0;  // flat: layer position * number of state kinds + state position
  std::int32_t num_rows = 1;
  std::int64_t src_byte_offset = 0;  // from element [0, 0, ...] of the state tensor
  std::int64_t dst_byte_offset = 0;
  std::int64_t row_bytes = 0;
  std::int64_t row_stride_bytes = 0;  // 0 with one row
  friend bool operator==(const StateCopy&, const StateCopy&) = default;
};
static_assert(std::is_trivially_copyable_v<StateCopy>);

// What copying one state needs to know about it; entry of StateLayout.
struct StateGeometry {
  std::int64_t block_stride = 0;    // bytes between blocks
  std::int64_t inner_size = 0;      // conv SD: elements per position; DS: 1; temporal: per block
  std::int64_t dim_row_stride = 0;  // conv DS: bytes between rows, else 0
  std::int32_t elem_size = 0;       // bytes
  std::int32_t conv_width = 0;      // positions of a conv window; 0: temporal
  std::int32_t dim_row_count = 0;   // conv DS: rows per block, else 0
  std::int32_t group_index = 0;     // into the mamba groups

  HS_HOST_DEVICE constexpr bool is_conv() const { return conv_width > 0; }
};
static_assert(std::is_trivially_copyable_v<StateGeometry>);

struct StateCopyBlocks {
  std::int32_t src_block = 0;
  std::int32_t dst_block = 0;
  std::int32_t accept_token_bias = 0;
};

// _copy_mamba_state_block (semantics: collect-mamba-copy-meta, within-block-shift): conv positions
// bias.. of src_block to positions 0.. of dst_block (DS: row by row), or the whole temporal state
// without the page's padding. A bias of conv_width or more leaves nothing to copy (row_bytes 0).
// Requires: bias >= 0.
HS_HOST_DEVICE constexpr StateCopy make_state_copy(std::int32_t state_index,
                                                   const StateGeometry& state,
                                                   const StateCopyBlocks& blocks) {
  StateCopy copy;
  copy.state_index = state_index;
  copy.src_byte_offset = blocks.src_block * state.block_stride;
  copy.dst_byte_offset = blocks.dst_block * state.block_stride;
  if (!state.is_conv()) {
    copy.row_bytes = state.inner_size * state.elem_size;
    return copy;
  }
  const std::int64_t position_bytes = state.inner_size * state.elem_size;
  const std::int64_t kept = state.conv_width - static_cast<std::int64_t>(blocks.accept_token_bias);
  copy.src_byte_offset += blocks.accept_token_bias * position_bytes;
  copy.row_bytes = kept > 0 ? kept * position_bytes : 0;
  if (state.dim_row_count > 0) {
    copy.num_rows = state.dim_row_count;
    copy.row_stride_bytes = state.dim_row_stride;
  }
  return copy;
}

// What a planned copy does to one state of its group's layers.

// The block that the copy reads for states of this kind (semantics: collect-mamba-copy-meta).
HS_HOST_DEVICE constexpr std::int32_t src_block_of(StateKind kind, const StateCopyOp& op) {
  return kind == StateKind::conv ? op.conv_src_block : op.temporal_src_block;
}

struct CopyOfState {
  StateCopy copy;
  bool poison = false;  // the source cannot be read: the copy's target becomes poison
};

// make_state_copy with the source block that the copy has for the state's kind.
HS_HOST_DEVICE constexpr CopyOfState make_copy_of_state(std::int32_t state_index,
                                                        const StateGeometry& state,
                                                        const StateCopyOp& op) {
  const std::int32_t source =
      src_block_of(state.is_conv() ? StateKind::conv : StateKind::temporal, op);
  CopyOfState result;
  result.poison = source < 0;
  result.copy = make_state_copy(state_index, state,
                                {.src_block = result.poison ? op.dst_block : source,
                                 .dst_block = op.dst_block,
                                 .accept_token_bias = op.accept_token_bias});
  return result;
}

// One call of use(CopyOfState) for each state of the copy's group, ascending. `states` has
// num_states() and geometry(state_index): a StateLayout, or the memory of a backend.
template <class States, class Use>
constexpr void for_each_copy_of_state(const States& states, const StateCopyOp& op, const Use& use) {
  for (std::int32_t i = 0; i < states.num_states(); ++i) {
    const StateGeometry& state = states.geometry(i);
    if (state.group_index == op.group_index) use(make_copy_of_state(i, state, op));
  }
}

}  // namespace hybridscope
