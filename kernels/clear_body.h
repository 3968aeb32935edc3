// Writes poison to blocks that have a new owner. A body has items; an item has at most most_lanes()
// lanes. Lanes are independent: they may run in any order, concurrently or one after the other.
#pragma once

#include <cstdint>

#include "core/base/host_device.h"
#include "core/state/state_ops.h"
#include "kernels/memory_view.h"
#include "kernels/state_range.h"
#include "kernels/state_view.h"

namespace hybridscope {

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
