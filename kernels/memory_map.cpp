#include "kernels/memory_map.h"

#include <algorithm>
#include <string>

#include "core/base/check.h"
#include "core/trace/step_trace.h"
#include "kernels/conv_body.h"

namespace hybridscope {
namespace {

static_assert(kMaxPriorTokens == kMaxConvKernel - 1);

Status check_state(const StateMemory& memory, const StateView& view, std::size_t index) {
  const std::int32_t elem_size = view.geometry.elem_size;
  const std::string place = "state " + std::to_string(index) + ": ";
  if (elem_size != 2 && elem_size != 4)
    return invalid_input(place + "elements of " + std::to_string(elem_size) +
                         " bytes, expected 2 or 4");
  if (view.geometry.is_conv()) {
    if (memory.conv_kernel >= 2 && memory.conv_kernel - 1 <= kMaxPriorTokens) return Ok{};
    return invalid_input(place + "a convolution over " + std::to_string(memory.conv_kernel) +
                         " tokens, expected 2 to " + std::to_string(kMaxPriorTokens + 1));
  }
  if (view.num_elements * elem_size >= static_cast<std::int64_t>(sizeof(Fingerprint))) return Ok{};
  return invalid_input(place + "a recurrent state of " +
                       std::to_string(view.num_elements * elem_size) +
                       " bytes cannot hold a fingerprint of 8 bytes");
}

StateView state_view(const StateMemory& memory, std::size_t index, std::byte* base) {
  const auto kinds = static_cast<std::size_t>(memory.layout.num_state_types);
  const std::size_t layer = index / kinds;
  const StateTensor& tensor = memory.tensors.layers[layer].states[index % kinds];
  StateView view;
  view.data = base + memory.layer_buffers[layer] * memory.buffer_bytes() +
              memory.state_offsets[index % kinds];
  view.num_elements = tensor.elements_per_block();
  view.geometry = memory.layout.geometry(static_cast<std::int32_t>(index));
  std::int64_t dense = 1;
  for (std::size_t axis = tensor.shape.size(); axis-- > 1;) {
    HS_EXPECT(tensor.stride[axis] == dense);
    dense *= tensor.shape[axis];
  }
  if (view.geometry.is_conv()) {
    const bool dim_first = memory.tensors.conv_state_layout == ConvStateLayout::DS;
    view.dim = tensor.shape[dim_first ? 1 : 2];
    view.position_stride = tensor.stride[dim_first ? 2 : 1];
    view.channel_stride = tensor.stride[dim_first ? 1 : 2];
  }
  return view;
}

void add_to_group(MemoryMap& map, std::int32_t index, std::int32_t group_index) {
  StateRange& range = map.group_states[static_cast<std::size_t>(group_index)];
  if (range.count == 0) range.first = index;
  HS_EXPECT(range.first + range.count == index);
  ++range.count;
  if (range.count > map.widest_group.count) map.widest_group = range;
}

}  // namespace

Result<MemoryMap> make_memory_map(const StateMemory& memory, std::byte* base) {
  MemoryMap map;
  map.num_state_types = memory.layout.num_state_types;
  map.num_blocks = memory.num_blocks;
  map.conv_kernel = memory.conv_kernel;
  map.group_states.resize(memory.tensors.mamba_group_ids.size());
  const auto num_states = static_cast<std::size_t>(memory.layout.num_states());
  for (std::size_t i = 0; i < num_states; ++i) {
    map.states.push_back(state_view(memory, i, base));
    const StateGeometry& geometry = map.states.back().geometry;
    if (Status status = check_state(memory, map.states.back(), i); !status) return status.error();
    add_to_group(map, static_cast<std::int32_t>(i), geometry.group_index);
    if (static_cast<std::int32_t>(i) >= map.num_state_types) continue;
    (geometry.is_conv() ? map.conv_kinds : map.temporal_kinds)
        .push_back(static_cast<std::int32_t>(i));
  }
  return map;
}

std::int64_t MemoryMap::widest_conv() const {
  std::int64_t widest = 0;
  for (const StateView& state : states)
    widest = std::max<std::int64_t>(widest, state.geometry.conv_width);
  return widest;
}

MemoryView view_of(const MemoryMap& map) {
  const auto most = [&map](const auto& size) {
    std::int64_t largest = 0;
    for (const StateView& state : map.states) largest = std::max(largest, size(state));
    return largest;
  };
  return {.states = map.states.data(),
          .group_states = map.group_states.data(),
          .temporal_kinds = map.temporal_kinds.data(),
          .conv_kinds = map.conv_kinds.data(),
          .num_state_types = map.num_state_types,
          .num_temporal_kinds = static_cast<std::int32_t>(map.temporal_kinds.size()),
          .num_conv_kinds = static_cast<std::int32_t>(map.conv_kinds.size()),
          .most_states = map.widest_group.count,
          .most_layers = map.widest_group.count / map.num_state_types,
          .conv_kernel = map.conv_kernel,
          .most_elements = most([](const StateView& state) { return state.num_elements; }),
          .most_temporal_elements = most([](const StateView& state) {
            return state.geometry.is_conv() ? 0 : state.num_elements;
          }),
          .most_dim = most([](const StateView& state) { return state.dim; }),
          .most_positions = std::max(map.widest_conv(), std::int64_t{1})};
}

}  // namespace hybridscope
