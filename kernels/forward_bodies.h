// A run of rows in three launches: fold the tokens of each row and layer, write the recurrent
// states, advance the conv states. Folding reads every recurrent state before any is written.
#pragma once

#include <cstdint>

#include "core/base/host_device.h"
#include "core/state/state_ops.h"
#include "kernels/conv_body.h"
#include "kernels/fold_body.h"
#include "kernels/memory_view.h"
#include "kernels/state_view.h"

namespace hybridscope {

// The arrays of StateOps where the bodies run.
struct ForwardArrays {
  const ForwardRow* rows = nullptr;
  const ForwardWrite* writes = nullptr;
  const TokenContent* tokens = nullptr;
  const Fingerprint* token_fingerprints = nullptr;
  Fingerprint* folded = nullptr;  // [writes, recurrent states of a group]
};

HS_HOST_DEVICE inline std::int64_t num_folded(const MemoryView& memory) {
  return static_cast<std::int64_t>(memory.most_layers) * memory.num_temporal_kinds;
}

// An item is a row, a lane one of its group's recurrent states.
struct FoldBody {
  MemoryView memory;
  ForwardArrays arrays;
  std::int32_t first_row = 0;

  struct Item {
    MemoryView memory;
    ForwardArrays arrays;
    ForwardRow row;
    std::int64_t num_lanes = 0;
    HS_HOST_DEVICE void operator()(std::int64_t lane) const {
      const StateView* state =
          state_of_group(memory, temporal_range(memory), row.group_index, lane);
      if (state == nullptr) return;
      const std::int64_t stride = num_folded(memory);
      fold_row(row, arrays.writes + row.first_write, arrays.tokens + row.first_token,
               load_start(*state, row), arrays.folded + row.first_write * stride + lane, stride);
    }
  };
  std::int64_t most_lanes() const { return num_folded(memory); }
  HS_HOST_DEVICE Item item(std::int64_t i) const {
    return {memory, arrays, arrays.rows[first_row + i], num_folded(memory)};
  }
};

// A recurrent write that no later write of its row overwrites.
struct TemporalWrite {
  std::int32_t row = 0;    // into rows
  std::int32_t write = 0;  // into writes
};

// An item is a write and a recurrent state, a lane an element.
struct TemporalBody {
  MemoryView memory;
  ForwardArrays arrays;
  const TemporalWrite* temporal_writes = nullptr;  // [items / num_folded()]

  struct Item {
    std::byte* block = nullptr;
    std::int64_t num_lanes = 0;
    Fingerprint fingerprint = 0;
    std::int32_t elem_size = 0;
    HS_HOST_DEVICE void operator()(std::int64_t lane) const {
      store_element(block, lane, elem_size, trace_element(fingerprint, lane, elem_size));
    }
  };
  std::int64_t most_lanes() const { return memory.most_temporal_elements; }
  HS_HOST_DEVICE Item item(std::int64_t i) const {
    const std::int64_t num_states = num_folded(memory);
    const TemporalWrite write = temporal_writes[i / num_states];
    const StateView* state = state_of_group(memory, temporal_range(memory),
                                            arrays.rows[write.row].group_index, i % num_states);
    if (state == nullptr) return {};
    return {state->block(arrays.writes[write.write].block), state->num_elements,
            arrays.folded[write.write * num_states + i % num_states], state->geometry.elem_size};
  }
};

// An item is a row and a conv state, a lane a channel.
struct ConvBody {
  MemoryView memory;
  ForwardArrays arrays;
  std::int32_t first_row = 0;

  struct Item {
    const StateView* state = nullptr;
    ConvRow conv;
    std::int64_t num_lanes = 0;
    HS_HOST_DEVICE void operator()(std::int64_t lane) const {
      write_conv_channel(*state, conv, lane);
    }
  };
  std::int64_t most_lanes() const { return memory.most_dim; }
  HS_HOST_DEVICE Item item(std::int64_t i) const {
    const std::int64_t num_states =
        static_cast<std::int64_t>(memory.most_layers) * memory.num_conv_kinds;
    const ForwardRow row = arrays.rows[first_row + i / num_states];
    const StateView* state =
        state_of_group(memory, conv_range(memory), row.group_index, i % num_states);
    if (state == nullptr) return {};
    return {state,
            {row, arrays.writes + row.first_write, arrays.token_fingerprints + row.first_token,
             memory.conv_kernel},
            state->dim};
  }
};

}  // namespace hybridscope
