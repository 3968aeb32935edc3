// Bodies of one step's copies, poison, gathered block table and check of contents. Copies of a
// launch: each of all states of its group, all at once if no two conflict, else lane by lane. A
// lane is a channel of a conv state or an element of a temporal one.
#pragma once

#include <cstdint>
#include <limits>

#include "core/base/math.h"
#include "core/metadata/block_table_gather.h"
#include "core/state/state_backend.h"
#include "core/state/state_copy.h"
#include "core/state/state_ops.h"
#include "kernels/memory_view.h"

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

// One block id of the gathered block table (semantics: mamba-get-block-table-tensor).

// An item is a row, a lane a column of the window.
struct GatherBody {
  const std::int32_t* block_table = nullptr;  // [rows, stride]
  const std::int32_t* seq_lens = nullptr;     // [rows]
  std::int64_t stride = 0;                    // columns
  ReciprocalDivider block_size{1};
  std::int32_t width = 0;
  std::int32_t* gathered = nullptr;  // [rows, width]

  struct Item {
    const std::int32_t* from = nullptr;
    std::int32_t* to = nullptr;
    std::int64_t num_lanes = 0;
    HS_HOST_DEVICE void operator()(std::int64_t lane) const { to[lane] = from[lane]; }
  };
  std::int64_t most_lanes() const { return width; }
  HS_HOST_DEVICE Item item(std::int64_t row) const {
    return {block_table + row * stride + first_window_column(seq_lens[row], block_size),
            gathered + row * width, width};
  }
};

// Finds the first element that differs from what a block should hold. An item is a content and a
// state, a lane an element of a temporal state or a channel of a conv one.

// No element differs.
inline constexpr std::uint64_t kNoDifference = std::numeric_limits<std::uint64_t>::max();

HS_HOST_DEVICE inline void lower_to(std::uint64_t* least, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t));
  atomicMin(reinterpret_cast<unsigned long long*>(least), static_cast<unsigned long long>(value));
#else
  if (value < *least) *least = value;
#endif
}

// One state of one content; num_lanes is 0 where the content is not of the state's kind.
struct ContentItem {
  StateView state;
  BlockContent content;
  const Fingerprint* positions = nullptr;  // conv: [conv_width] of the block
  std::int64_t num_lanes = 0;
  std::int64_t num_positions = 0;  // temporal: 1

  // Index of an element, as in StateMismatch.
  HS_HOST_DEVICE std::int64_t number(std::int64_t position, std::int64_t lane) const {
    return position * num_lanes + lane;
  }
  HS_HOST_DEVICE std::int64_t place(std::int64_t position, std::int64_t lane) const {
    return positions == nullptr ? lane : state.element(position, lane);
  }
  HS_HOST_DEVICE std::uint64_t expected(std::int64_t position, std::int64_t lane) const {
    return trace_element(positions == nullptr ? content.fingerprint : positions[position], lane,
                         state.geometry.elem_size);
  }
  HS_HOST_DEVICE std::uint64_t seen(std::int64_t position, std::int64_t lane) const {
    return load_element(state.block(content.block), place(position, lane),
                        state.geometry.elem_size);
  }
};

struct ContentArrays {
  MemoryView memory;
  const BlockContent* contents = nullptr;
  const Fingerprint* conv_fingerprints = nullptr;
};

// Item `i` of the contents, memory.most_states each.
HS_HOST_DEVICE inline ContentItem content_item(const ContentArrays& arrays, std::int64_t i) {
  ContentItem item;
  item.content = arrays.contents[i / arrays.memory.most_states];
  const StateRange group = arrays.memory.group_states[item.content.group_index];
  const auto n = static_cast<std::int32_t>(i % arrays.memory.most_states);
  if (n >= group.count) return item;
  item.state = arrays.memory.states[group.first + n];
  const bool conv = item.state.geometry.is_conv();
  if (conv != (item.content.kind == StateKind::conv)) return item;
  item.num_lanes = conv ? item.state.dim : item.state.num_elements;
  item.num_positions = conv ? item.state.geometry.conv_width : 1;
  if (conv) item.positions = arrays.conv_fingerprints + item.content.first_position;
  return item;
}

struct VerifyBody {
  ContentArrays arrays;
  std::uint64_t* first_differences = nullptr;  // [items] kNoDifference before the launch
  struct Item : ContentItem {
    std::uint64_t* first_difference = nullptr;
    HS_HOST_DEVICE void operator()(std::int64_t lane) const {
      for (std::int64_t position = 0; position < num_positions; ++position)
        if (seen(position, lane) != expected(position, lane))
          return lower_to(first_difference, static_cast<std::uint64_t>(number(position, lane)));
    }
  };
  std::int64_t most_lanes() const { return arrays.memory.most_lanes(); }
  HS_HOST_DEVICE Item item(std::int64_t i) const {
    return {content_item(arrays, i), first_differences + i};
  }
};

// Runs after VerifyBody and stores both values of each first difference. One lane per item.
struct DescribeBody {
  ContentArrays arrays;
  const std::uint64_t* first_differences = nullptr;  // [items]
  std::uint64_t* expected = nullptr;                 // [items]
  std::uint64_t* seen = nullptr;                     // [items]
  struct Item {
    ContentItem content;
    std::uint64_t element = 0;
    std::uint64_t* expected = nullptr;
    std::uint64_t* seen = nullptr;
    std::int64_t num_lanes = 0;
    HS_HOST_DEVICE void operator()(std::int64_t) const {
      const auto position = static_cast<std::int64_t>(element) / content.num_lanes;
      const auto lane = static_cast<std::int64_t>(element) % content.num_lanes;
      *expected = content.expected(position, lane);
      *seen = content.seen(position, lane);
    }
  };
  std::int64_t most_lanes() const { return 1; }
  HS_HOST_DEVICE Item item(std::int64_t i) const {
    return {content_item(arrays, i), first_differences[i], expected + i, seen + i,
            first_differences[i] == kNoDifference ? 0 : 1};
  }
};

}  // namespace hybridscope
