// Finds the first element that differs from what a block should hold. An item is a content and a
// state, a lane an element of a temporal state or a channel of a conv one.
#pragma once

#include <cstdint>
#include <limits>

#include "core/base/host_device.h"
#include "core/state/state_backend.h"
#include "core/state/state_ops.h"
#include "kernels/memory_view.h"
#include "kernels/state_view.h"

namespace hybridscope {

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
