// What one row of a layer kernel does to one channel of a conv state (semantics: decode-conv,
// decode-conv-without-counts, prefill-conv).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/host_device.h"
#include "core/state/state_ops.h"
#include "kernels/state_view.h"

namespace hybridscope {

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

}  // namespace hybridscope
