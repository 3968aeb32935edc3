// A MemoryMap as bodies see it: pointers that are valid where they run.
#pragma once

#include <cstdint>

#include "core/base/host_device.h"
#include "kernels/state_view.h"

namespace hybridscope {

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
