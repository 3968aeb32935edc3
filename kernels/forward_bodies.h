// A run of rows in three launches: fold the tokens of each row and layer, write the recurrent
// states, advance the conv states. Folding reads every recurrent state before any is written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/fingerprint.h"
#include "core/base/math.h"
#include "core/state/state_ops.h"
#include "kernels/memory_view.h"

namespace hybridscope {

// What one row of a layer kernel does to one channel of a conv state (semantics: decode-conv,
// decode-conv-without-counts, prefill-conv).

// The largest W - 1: how many positions of a channel a kernel holds before it writes.
inline constexpr std::int32_t kMaxPriorTokens = 7;

HS_HOST_DEVICE constexpr bool is_conv_write(const ForwardWrite& write) {
  return write.kind != ForwardWriteKind::temporal;
}

// A write stores positions [0, this); those that the state does not have are dropped.
HS_HOST_DEVICE constexpr std::int32_t num_written_positions(const ForwardWrite& write,
                                                            std::int32_t conv_kernel,
                                                            std::int32_t conv_width) {
  const std::int32_t positions = write.kind == ForwardWriteKind::conv_tail
                                     ? conv_kernel - 1
                                     : conv_kernel - 2 + write.num_tokens;
  return positions < conv_width ? positions : conv_width;
}

// Where position `position` of a write comes from: the row's token n is n, prior token n -1 - n.
HS_HOST_DEVICE constexpr std::int32_t conv_position_source(const ForwardWrite& write,
                                                           std::int32_t conv_kernel,
                                                           std::int32_t position) {
  if (write.kind == ForwardWriteKind::conv_tail) {
    const std::int32_t token = write.num_tokens - (conv_kernel - 1) + position;
    return token >= 0 ? token : -1 - (write.num_tokens + position);
  }
  const std::int32_t kept = conv_kernel - 2;
  return position < kept ? -1 - (position + 1) : position - kept;
}

// What a row reads if its source is not a block; kNoSource: before the first token.
HS_HOST_DEVICE constexpr Fingerprint conv_without_block(std::int32_t source) {
  return source == kNoSource ? kBeforeFirstToken : kPoison;
}

// Prior token n of a channel, as an element. Positions that the state does not have are poison.
HS_HOST_DEVICE inline std::uint64_t load_prior(const StateView& state, const ForwardRow& row,
                                               std::int32_t n, std::int64_t channel) {
  const std::int32_t elem_size = state.geometry.elem_size;
  const std::int64_t position = row.conv_src_position + static_cast<std::int64_t>(n);
  if (row.conv_src_block < 0)
    return trace_element(conv_without_block(row.conv_src_block), channel, elem_size);
  if (position >= state.geometry.conv_width) return trace_element(kPoison, channel, elem_size);
  return load_element(state.block(row.conv_src_block), state.element(position, channel), elem_size);
}

// One row, its own writes [num_writes] and its own tokens' fingerprints [num_tokens].
struct ConvRow {
  ForwardRow row;
  const ForwardWrite* writes = nullptr;
  const Fingerprint* token_fingerprints = nullptr;
  std::int32_t conv_kernel = 0;  // W
};

// All conv writes of the row in one channel: everything is read before anything is written.
// Requires: W - 1 <= kMaxPriorTokens.
HS_HOST_DEVICE inline void write_conv_channel(const StateView& state, const ConvRow& conv,
                                              std::int64_t channel) {
  const std::int32_t elem_size = state.geometry.elem_size;
  std::uint32_t prior[kMaxPriorTokens];
  for (std::int32_t n = 0; n < kMaxPriorTokens; ++n)
    prior[n] = n < conv.conv_kernel - 1
                   ? static_cast<std::uint32_t>(load_prior(state, conv.row, n, channel))
                   : 0;
  for (std::int32_t w = 0; w < conv.row.num_writes; ++w) {
    const ForwardWrite& write = conv.writes[w];
    if (!is_conv_write(write)) continue;
    const std::int32_t positions =
        num_written_positions(write, conv.conv_kernel, state.geometry.conv_width);
    for (std::int32_t position = 0; position < positions; ++position) {
      const std::int32_t source = conv_position_source(write, conv.conv_kernel, position);
      const std::uint64_t value =
          source >= 0 ? trace_element(conv.token_fingerprints[source], channel, elem_size)
                      : prior[-1 - source];
      store_element(state.block(write.block), state.element(position, channel), elem_size, value);
    }
  }
}

// What one row of a layer kernel does to one recurrent state: the trace recurrence folds its tokens
// (semantics: fingerprint).

// The fingerprint that a row starts from in one layer, read from the layer's own state.
HS_HOST_DEVICE inline Fingerprint load_start(const StateView& state, const ForwardRow& row) {
  if (row.temporal_src_block >= 0)
    return load_fingerprint(state.block(row.temporal_src_block), state.geometry.elem_size);
  return row.temporal_src_block == kNoSource ? row.start : kPoison;
}

// For each temporal write w of the row, folded[w * stride] = the state that it writes; other
// elements are not changed. `writes` and `tokens` are the row's. If writes ascend by num_tokens,
// one pass over the tokens is enough.
HS_HOST_DEVICE inline void fold_row(const ForwardRow& row, const ForwardWrite* writes,
                                    const TokenContent* tokens, Fingerprint start,
                                    Fingerprint* folded, std::int64_t stride = 1) {
  Fingerprint state = start;
  std::int32_t num_folded = 0;
  for (std::int32_t w = 0; w < row.num_writes; ++w) {
    if (writes[w].kind != ForwardWriteKind::temporal) continue;
    if (writes[w].num_tokens < num_folded) {
      state = start;
      num_folded = 0;
    }
    for (; num_folded < writes[w].num_tokens; ++num_folded)
      state = extend_fingerprint(state, tokens[num_folded]);
    folded[w * stride] = state;
  }
}

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
