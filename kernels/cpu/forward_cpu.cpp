#include "kernels/cpu/forward_cpu.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/elements_cpu.h"
#include "kernels/forward_bodies.h"

namespace hybridscope {
namespace {

std::span<const ForwardWrite> writes_of(const StateOps& ops, const ForwardRow& row) {
  return std::span(ops.writes)
      .subspan(static_cast<std::size_t>(row.first_write), static_cast<std::size_t>(row.num_writes));
}

// State `kind` of the group's layer number `layer`.
const StateView& layer_state(const MemoryMap& map, const ForwardRow& row, std::int32_t layer,
                             std::int32_t kind) {
  const StateRange& range = map.group_states[static_cast<std::size_t>(row.group_index)];
  return map.states[static_cast<std::size_t>(range.first + layer * map.num_state_types + kind)];
}

}  // namespace

void ForwardCpu::run(const MemoryMap& map, const StateOps& ops, const ForwardRow& row) {
  if (row.num_writes == 0) return;
  const std::int32_t num_layers = map.num_layers(row.group_index);
  if (num_layers == 0) return;
  for (const std::int32_t kind : map.temporal_kinds) {
    fold_layers(map, ops, row, kind);
    write_temporal(map, ops, row, kind);
  }
  for (const std::int32_t kind : map.conv_kinds) {
    make_token_rows(layer_state(map, row, 0, kind), ops, row, map.conv_kernel);
    for (std::int32_t layer = 0; layer < num_layers; ++layer)
      write_conv(layer_state(map, row, layer, kind), ops, row, map.conv_kernel);
  }
}

void ForwardCpu::fold_layers(const MemoryMap& map, const StateOps& ops, const ForwardRow& row,
                             std::int32_t kind) {
  const auto num_writes = static_cast<std::size_t>(row.num_writes);
  const std::int32_t num_layers = map.num_layers(row.group_index);
  folded_.assign(static_cast<std::size_t>(num_layers) * num_writes, 0);
  Fingerprint previous = 0;
  for (std::int32_t layer = 0; layer < num_layers; ++layer) {
    const Fingerprint start = load_start(layer_state(map, row, layer, kind), row);
    Fingerprint* folded = folded_.data() + static_cast<std::size_t>(layer) * num_writes;
    if (layer > 0 && start == previous)
      std::copy_n(folded - num_writes, num_writes, folded);
    else
      fold_row(row, ops.writes.data() + row.first_write, ops.tokens.data() + row.first_token, start,
               folded);
    previous = start;
  }
}

void ForwardCpu::write_temporal(const MemoryMap& map, const StateOps& ops, const ForwardRow& row,
                                std::int32_t kind) {
  const std::int32_t num_layers = map.num_layers(row.group_index);
  const std::span<const ForwardWrite> writes = writes_of(ops, row);
  for (std::size_t w = 0; w < writes.size(); ++w) {
    if (writes[w].kind != ForwardWriteKind::temporal) continue;
    const std::byte* previous = nullptr;
    Fingerprint previous_fingerprint = 0;
    for (std::int32_t layer = 0; layer < num_layers; ++layer) {
      const StateView& state = layer_state(map, row, layer, kind);
      const Fingerprint fingerprint = folded_[static_cast<std::size_t>(layer) * writes.size() + w];
      const std::int32_t elem_size = state.geometry.elem_size;
      std::byte* to = state.block(writes[w].block);
      if (previous != nullptr && fingerprint == previous_fingerprint)
        std::memcpy(to, previous, static_cast<std::size_t>(state.num_elements * elem_size));
      else
        store_trace_elements(to, state.num_elements, elem_size, fingerprint);
      previous = to;
      previous_fingerprint = fingerprint;
    }
  }
}

// In the order in which write_conv takes them.
void ForwardCpu::make_token_rows(const StateView& state, const StateOps& ops, const ForwardRow& row,
                                 std::int32_t conv_kernel) {
  const std::int32_t elem_size = state.geometry.elem_size;
  const auto row_bytes = static_cast<std::size_t>(state.dim * elem_size);
  const Fingerprint* fingerprints = ops.token_fingerprints.data() + row.first_token;
  token_rows_.clear();
  for (const ForwardWrite& write : writes_of(ops, row)) {
    if (!is_conv_write(write)) continue;
    const std::int32_t positions =
        num_written_positions(write, conv_kernel, state.geometry.conv_width);
    for (std::int32_t position = 0; position < positions; ++position) {
      const std::int32_t source = conv_position_source(write, conv_kernel, position);
      if (source < 0) continue;
      token_rows_.resize(token_rows_.size() + row_bytes);
      store_trace_elements(token_rows_.data() + token_rows_.size() - row_bytes, state.dim,
                           elem_size, fingerprints[source]);
    }
  }
}

void ForwardCpu::write_conv(const StateView& state, const StateOps& ops, const ForwardRow& row,
                            std::int32_t conv_kernel) {
  const std::int32_t elem_size = state.geometry.elem_size;
  const auto row_bytes = static_cast<std::size_t>(state.dim * elem_size);
  prior_rows_.resize(static_cast<std::size_t>(conv_kernel - 1) * row_bytes);
  for (std::int32_t n = 0; n < conv_kernel - 1; ++n) {
    std::byte* to = prior_rows_.data() + static_cast<std::size_t>(n) * row_bytes;
    const std::int32_t position = row.conv_src_position + n;
    if (row.conv_src_block < 0)
      store_trace_elements(to, state.dim, elem_size, conv_without_block(row.conv_src_block));
    else if (position >= state.geometry.conv_width)
      store_trace_elements(to, state.dim, elem_size, kPoison);
    else
      load_position(state, state.block(row.conv_src_block), position, to);
  }
  const std::byte* next_token = token_rows_.data();
  for (const ForwardWrite& write : writes_of(ops, row)) {
    if (!is_conv_write(write)) continue;
    const std::int32_t positions =
        num_written_positions(write, conv_kernel, state.geometry.conv_width);
    for (std::int32_t position = 0; position < positions; ++position) {
      const std::int32_t source = conv_position_source(write, conv_kernel, position);
      const std::byte* from =
          source >= 0 ? next_token
                      : prior_rows_.data() + static_cast<std::size_t>(-1 - source) * row_bytes;
      store_position(state, state.block(write.block), position, from);
      if (source >= 0) next_token += row_bytes;
    }
  }
}

}  // namespace hybridscope
