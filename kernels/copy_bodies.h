// The copies of one launch, each of all states of its group: all at once if no two conflict, else
// lane by lane. A lane is a channel of a conv state or an element of a temporal one.
#pragma once

#include <cstdint>

#include "core/base/host_device.h"
#include "core/state/copy_of_state.h"
#include "core/state/state_ops.h"
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

  HS_HOST_DEVICE std::int64_t at(std::int64_t lane, std::int64_t step) const {
    return lane * lanes.lane_bytes + step * lanes.step_bytes;
  }
  HS_HOST_DEVICE void operator()(std::int64_t lane) const {
    for (std::int64_t step = 0; step < lanes.num_steps; ++step) {
      const std::uint64_t value = from == nullptr
                                      ? trace_element(kPoison, 0, elem_size)
                                      : load_element(from + at(lane, step), 0, elem_size);
      store_element(to + at(lane, step), 0, elem_size, value);
    }
  }
};

// State number `n` of the copy's group; no lanes where the group has no such state.
HS_HOST_DEVICE inline CopyItem copy_item(const MemoryView& memory, const StateCopyOp& op,
                                         std::int32_t n) {
  const StateRange group = memory.group_states[op.group_index];
  if (n >= group.count) return {};
  const StateView& state = memory.states[group.first + n];
  const CopyOfState made = make_copy_of_state(group.first + n, state.geometry, op);
  CopyItem item;
  item.from = made.poison ? nullptr : state.data + made.copy.src_byte_offset;
  item.to = state.data + made.copy.dst_byte_offset;
  item.lanes = lanes_of(state.geometry, made.copy);
  item.num_lanes = item.lanes.num_lanes;
  item.elem_size = state.geometry.elem_size;
  return item;
}

// An item is a copy and a state.
struct CopyBody {
  MemoryView memory;
  const StateCopyOp* copies = nullptr;  // [items / memory.most_states]

  std::int64_t most_lanes() const { return memory.most_lanes(); }
  HS_HOST_DEVICE CopyItem item(std::int64_t i) const {
    return copy_item(memory, copies[i / memory.most_states],
                     static_cast<std::int32_t>(i % memory.most_states));
  }
};

// Copies of one launch that conflict: all sources are read before anything is written
// (semantics: I13), and writes to one block keep their order. A copy moves an element only inside
// its lane of its buffer, for any group, so that each lane can carry out all copies by itself. One
// item: lanes [first_lane, first_lane + num_lanes) of all states of the widest group, as many as
// the scratch has room for.
struct MeetingCopiesBody {
  MemoryView memory;
  const StateCopyOp* copies = nullptr;  // [num_copies]
  std::int32_t num_copies = 0;
  std::int64_t first_lane = 0;
  std::int64_t num_lanes = 0;
  std::uint32_t* scratch = nullptr;  // [num_copies, memory.most_positions, num_lanes] elements

  HS_HOST_DEVICE void operator()(std::int64_t lane) const {
    const auto n = static_cast<std::int32_t>((first_lane + lane) / memory.most_lanes());
    const std::int64_t lane_of_state = (first_lane + lane) % memory.most_lanes();
    const auto saved = [this, lane](std::int32_t copy, std::int64_t step) {
      return scratch + (copy * memory.most_positions + step) * num_lanes + lane;
    };
    for (std::int32_t c = 0; c < num_copies; ++c) {
      const CopyItem item = copy_item(memory, copies[c], n);
      if (lane_of_state >= item.num_lanes || item.from == nullptr) continue;
      for (std::int64_t step = 0; step < item.lanes.num_steps; ++step)
        *saved(c, step) = static_cast<std::uint32_t>(
            load_element(item.from + item.at(lane_of_state, step), 0, item.elem_size));
    }
    for (std::int32_t c = 0; c < num_copies; ++c) {
      const CopyItem item = copy_item(memory, copies[c], n);
      if (lane_of_state >= item.num_lanes) continue;
      for (std::int64_t step = 0; step < item.lanes.num_steps; ++step)
        store_element(
            item.to + item.at(lane_of_state, step), 0, item.elem_size,
            item.from == nullptr ? trace_element(kPoison, 0, item.elem_size) : *saved(c, step));
    }
  }
  std::int64_t most_lanes() const { return num_lanes; }
  HS_HOST_DEVICE const MeetingCopiesBody& item(std::int64_t) const { return *this; }
};

// Writes poison to blocks that have a new owner. A body has items; an item has at most most_lanes()
// lanes. Lanes are independent: they may run in any order, concurrently or one after the other.

// An item is a block and a state, a lane an element.
struct ClearBody {
  MemoryView memory;
  StateRange range;                      // states that cover every buffer
  const std::int32_t* blocks = nullptr;  // [items / range.count]

  struct Item {
    std::byte* block = nullptr;
    std::int64_t num_lanes = 0;
    std::int32_t elem_size = 0;
    HS_HOST_DEVICE void operator()(std::int64_t lane) const {
      store_element(block, lane, elem_size, trace_element(kPoison, lane, elem_size));
    }
  };
  std::int64_t most_lanes() const { return memory.most_elements; }
  HS_HOST_DEVICE Item item(std::int64_t i) const {
    const StateView& state = memory.states[range.first + i % range.count];
    return {state.block(blocks[i / range.count]), state.num_elements, state.geometry.elem_size};
  }
};

}  // namespace hybridscope
