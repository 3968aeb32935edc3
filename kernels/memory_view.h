// A MemoryMap and each of its states as bodies see them: pointers that are valid where they run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/base/fingerprint.h"
#include "core/base/math.h"
#include "core/state/state_copy.h"

namespace hybridscope {

// One state of one layer in memory, as kernels see it: pointers and sizes only. Elements are
// unsigned numbers of 2 or 4 bytes, little endian; what they stand for does not matter here.

struct StateView {
  std::byte* data = nullptr;      // element [0, 0, ...] of block 0
  std::int64_t num_elements = 0;  // of one block
  StateGeometry geometry;
  std::int64_t dim = 0;              // conv: channels of a position
  std::int64_t position_stride = 0;  // conv: elements from a position to the next
  std::int64_t channel_stride = 0;   // conv: elements from a channel to the next

  HS_HOST_DEVICE std::byte* block(std::int32_t block) const {
    return data + block * geometry.block_stride;
  }
  // Conv: element of a block.
  HS_HOST_DEVICE constexpr std::int64_t element(std::int64_t position, std::int64_t channel) const {
    return position * position_stride + channel * channel_stride;
  }
};
static_assert(std::is_trivially_copyable_v<StateView>);

// States lie at multiples of their element size.
template <class T>
HS_HOST_DEVICE inline T load_as(const std::byte* from) {
#if defined(__CUDA_ARCH__)
  return *reinterpret_cast<const T*>(from);
#else
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
#endif
}

template <class T>
HS_HOST_DEVICE inline void store_as(std::byte* to, T value) {
#if defined(__CUDA_ARCH__)
  *reinterpret_cast<T*>(to) = value;
#else
  std::memcpy(to, &value, sizeof(T));
#endif
}

HS_HOST_DEVICE inline std::uint64_t load_element(const std::byte* state, std::int64_t i,
                                                 std::int32_t elem_size) {
  return elem_size == 2 ? load_as<std::uint16_t>(state + 2 * i)
                        : load_as<std::uint32_t>(state + 4 * i);
}

HS_HOST_DEVICE inline void store_element(std::byte* state, std::int64_t i, std::int32_t elem_size,
                                         std::uint64_t value) {
  if (elem_size == 2)
    store_as(state + 2 * i, static_cast<std::uint16_t>(value));
  else
    store_as(state + 4 * i, static_cast<std::uint32_t>(value));
}

// The fingerprint of a temporal state: its first 8 bytes (semantics: trace-element). Requires: a
// state of at least 8 bytes.
HS_HOST_DEVICE inline Fingerprint load_fingerprint(const std::byte* state, std::int32_t elem_size) {
  Fingerprint fingerprint = 0;
  for (std::int32_t i = 0; i * elem_size < 8; ++i)
    fingerprint |= load_element(state, i, elem_size) << (8 * elem_size * i);
  return fingerprint;
}

// Adjacent states in the list of all states.

struct StateRange {
  std::int32_t first = 0;  // flat state index
  std::int32_t count = 0;
};

struct MemoryView {
  const StateView* states = nullptr;             // [num_states]
  const StateRange* group_states = nullptr;      // [mamba groups]
  const std::int32_t* temporal_kinds = nullptr;  // [num_temporal_kinds] of a layer's states
  const std::int32_t* conv_kinds = nullptr;      // [num_conv_kinds]
  std::int32_t num_state_types = 0;
  std::int32_t num_temporal_kinds = 0;
  std::int32_t num_conv_kinds = 0;
  std::int32_t most_states = 0;             // of a group
  std::int32_t most_layers = 0;             // of a group
  std::int32_t conv_kernel = 0;             // W
  std::int64_t most_elements = 0;           // of a block of a state
  std::int64_t most_temporal_elements = 0;  // of a block of a recurrent state
  std::int64_t most_dim = 0;                // channels of a conv state
  std::int64_t most_positions = 1;          // of a conv state; 1 without one

  // The most lanes of an item if a lane is a channel of a conv state or an element of a recurrent
  // one.
  HS_HOST_DEVICE std::int64_t most_lanes() const {
    return most_temporal_elements > most_dim ? most_temporal_elements : most_dim;
  }
};

// Work on the states of a group is numbered as if every group had the most layers: numbers past a
// group's own layers have no state.
struct KindRange {
  const std::int32_t* kinds = nullptr;
  std::int32_t num_kinds = 0;
};
HS_HOST_DEVICE inline KindRange temporal_range(const MemoryView& memory) {
  return {memory.temporal_kinds, memory.num_temporal_kinds};
}
HS_HOST_DEVICE inline KindRange conv_range(const MemoryView& memory) {
  return {memory.conv_kinds, memory.num_conv_kinds};
}

// State number `n` of the group among its states of these kinds, layer by layer; null past the
// last.
HS_HOST_DEVICE inline const StateView* state_of_group(const MemoryView& memory, KindRange range,
                                                      std::int32_t group_index, std::int64_t n) {
  const StateRange group = memory.group_states[group_index];
  const std::int64_t index =
      n / range.num_kinds * memory.num_state_types + range.kinds[n % range.num_kinds];
  return index < group.count ? memory.states + group.first + index : nullptr;
}

}  // namespace hybridscope
