// The copies of one launch, each of all states of its group: straight from page to page, or through
// a second buffer where they get in each other's way. An item is a copy and a state, a lane a
// channel of a conv state or an element of a temporal one.
#pragma once

#include <cstdint>

#include "core/base/host_device.h"
#include "core/state/state_ops.h"
#include "core/state/trace_element.h"
#include "kernels/copy_of_state.h"
#include "kernels/memory_view.h"
#include "kernels/state_view.h"

namespace hybridscope {

// The elements of a copy: `num_lanes` lanes of `num_steps` elements each. A lane's steps run
// upwards and an offset inside a block only ever shrinks, so a lane never overwrites what it has
// still to read: memmove without a second buffer.
struct CopyLanes {
  std::int64_t num_lanes = 0;
  std::int64_t lane_bytes = 0;
  std::int64_t num_steps = 0;
  std::int64_t step_bytes = 0;
};
HS_HOST_DEVICE inline CopyLanes lanes_of(const StateGeometry& state, const StateCopy& copy) {
  const std::int64_t elem_size = state.elem_size;
  if (!state.is_conv()) return {copy.row_bytes / elem_size, elem_size, 1, 0};
  if (state.dim_row_count > 0)
    return {copy.num_rows, copy.row_stride_bytes, copy.row_bytes / elem_size, elem_size};
  const std::int64_t position_bytes = state.inner_size * elem_size;
  return {state.inner_size, elem_size, copy.row_bytes / position_bytes, position_bytes};
}

struct CopyItem {
  const std::byte* from = nullptr;  // null: poison
  std::byte* to = nullptr;
  std::int64_t num_lanes = 0;
  CopyLanes lanes;
  std::int32_t elem_size = 0;

  HS_HOST_DEVICE void operator()(std::int64_t lane) const {
    const std::int64_t first = lane * lanes.lane_bytes;
    for (std::int64_t step = 0; step < lanes.num_steps; ++step) {
      const std::int64_t at = first + step * lanes.step_bytes;
      const std::uint64_t value = from == nullptr ? trace_element(kPoison, 0, elem_size)
                                                  : load_element(from + at, 0, elem_size);
      store_element(to + at, 0, elem_size, value);
    }
  }
};

enum class CopyStage : std::int32_t {
  direct,  // page to page
  save,    // page to second buffer; nothing for poison
  write,   // second buffer to page
};

struct CopyBody {
  MemoryView memory;
  const StateCopyOp* copies = nullptr;  // [items / memory.most_states]
  CopyStage stage = CopyStage::direct;
  std::byte* staging = nullptr;                   // [copies of the launch, staging_stride]
  const std::int64_t* staging_offsets = nullptr;  // [num_states] from a copy's begin
  std::int64_t staging_stride = 0;                // bytes

  std::int64_t most_lanes() const { return memory.most_lanes(); }
  HS_HOST_DEVICE CopyItem item(std::int64_t i) const {
    const StateCopyOp op = copies[i / memory.most_states];
    const StateRange group = memory.group_states[op.group_index];
    const auto n = static_cast<std::int32_t>(i % memory.most_states);
    if (n >= group.count) return {};
    const StateView& state = memory.states[group.first + n];
    const CopyOfState made = make_copy_of_state(group.first + n, state.geometry, op);
    if (made.poison && stage == CopyStage::save) return {};
    CopyItem item;
    item.from = state.data + made.copy.src_byte_offset;
    item.to = state.data + made.copy.dst_byte_offset;
    if (stage != CopyStage::direct) {
      std::byte* saved =
          staging + i / memory.most_states * staging_stride + staging_offsets[group.first + n];
      if (stage == CopyStage::save)
        item.to = saved;
      else
        item.from = saved;
    }
    if (made.poison) item.from = nullptr;
    item.lanes = lanes_of(state.geometry, made.copy);
    item.num_lanes = item.lanes.num_lanes;
    item.elem_size = state.geometry.elem_size;
    return item;
  }
};

}  // namespace hybridscope
