#include "core/state/state_layout.h"

#include <string>

namespace hybridscope {
namespace {

std::string place(std::size_t layer, std::size_t state) {
  return "layer " + std::to_string(layer) + ", state " + std::to_string(state) + ": ";
}

struct StateEntry {
  StateGeometry geometry;
  std::int64_t num_blocks = 0;
};

Result<StateEntry> describe(const StateTensor& state, StateKind kind, ConvStateLayout layout) {
  const std::size_t dims = state.shape.size();
  if (dims == 0 || state.stride.size() != dims)
    return invalid_input(std::to_string(dims) + " dimensions and " +
                         std::to_string(state.stride.size()) + " strides");
  StateEntry entry;
  entry.num_blocks = state.shape[0];
  StateGeometry& geometry = entry.geometry;
  geometry.elem_size = state.elem_size;
  // The reference takes a flat tensor as one block.
  geometry.block_stride = dims > 1 ? state.block_stride_bytes() : state.shape[0] * state.elem_size;
  if (kind == StateKind::temporal) {
    geometry.inner_size = state.elements_per_block();
    return entry;
  }
  if (dims != 3)
    return invalid_input("a conv state has 3 dimensions, this one " + std::to_string(dims));
  const std::size_t slide_axis = layout == ConvStateLayout::DS ? 2 : 1;
  geometry.conv_width = static_cast<std::int32_t>(state.shape[slide_axis]);
  if (layout == ConvStateLayout::SD) {
    geometry.inner_size = state.stride[1];
    return entry;
  }
  geometry.inner_size = 1;
  geometry.dim_row_count = static_cast<std::int32_t>(state.shape[1]);
  geometry.dim_row_stride = state.stride[1] * state.elem_size;
  return entry;
}

void append(StateLayout& layout, const StateEntry& entry) {
  const StateGeometry& geometry = entry.geometry;
  layout.state_block_strides.push_back(geometry.block_stride);
  layout.state_elem_sizes.push_back(geometry.elem_size);
  layout.state_inner_sizes.push_back(geometry.inner_size);
  layout.state_conv_widths.push_back(geometry.conv_width);
  layout.state_group_indices.push_back(geometry.group_index);
  layout.state_dim_row_count.push_back(geometry.dim_row_count);
  layout.state_dim_row_stride.push_back(geometry.dim_row_stride);
  layout.state_num_blocks.push_back(entry.num_blocks);
}

Status append_layer(StateLayout& layout, const MambaStateTensors& tensors, std::size_t layer) {
  const MambaLayerStates& states = tensors.layers[layer];
  if (states.states.size() != tensors.state_kinds.size())
    return invalid_input("layer " + std::to_string(layer) + " has " +
                         std::to_string(states.states.size()) + " states for " +
                         std::to_string(tensors.state_kinds.size()) + " copy functions");
  if (states.group_index < 0 ||
      static_cast<std::size_t>(states.group_index) >= tensors.mamba_group_ids.size())
    return invalid_input("layer " + std::to_string(layer) + " is in mamba group " +
                         std::to_string(states.group_index) + " of " +
                         std::to_string(tensors.mamba_group_ids.size()));
  for (std::size_t i = 0; i < states.states.size(); ++i) {
    if (!tensors.state_kinds[i])
      return invalid_input(place(layer, i) +
                           "its copy function is not known (expected conv or temporal)");
    Result<StateEntry> entry =
        describe(states.states[i], *tensors.state_kinds[i], tensors.conv_state_layout);
    if (!entry) return invalid_input(place(layer, i) + entry.error().message);
    entry.value().geometry.group_index = states.group_index;
    append(layout, entry.value());
  }
  return Ok{};
}

}  // namespace

StateGeometry StateLayout::geometry(std::int32_t state_index) const {
  const auto i = static_cast<std::size_t>(state_index);
  return {.block_stride = state_block_strides.at(i),
          .inner_size = state_inner_sizes.at(i),
          .dim_row_stride = state_dim_row_stride.at(i),
          .elem_size = state_elem_sizes.at(i),
          .conv_width = state_conv_widths.at(i),
          .dim_row_count = state_dim_row_count.at(i),
          .group_index = state_group_indices.at(i)};
}

Result<StateLayout> make_state_layout(const MambaStateTensors& tensors,
                                      std::span<const std::int64_t> block_table_strides) {
  StateLayout layout;
  layout.num_layers = static_cast<std::int32_t>(tensors.layers.size());
  layout.num_state_types = static_cast<std::int32_t>(tensors.state_kinds.size());
  layout.block_size = tensors.block_size;
  layout.mamba_group_ids = tensors.mamba_group_ids;
  for (std::size_t layer = 0; layer < tensors.layers.size(); ++layer)
    if (Status status = append_layer(layout, tensors, layer); !status) return status.error();
  if (block_table_strides.size() != tensors.mamba_group_ids.size() || block_table_strides.empty())
    return invalid_input("expected " + std::to_string(tensors.mamba_group_ids.size()) +
                         " block tables, got " + std::to_string(block_table_strides.size()));
  layout.block_table_stride_req = block_table_strides[0];
  for (const std::int64_t stride : block_table_strides)
    if (stride != layout.block_table_stride_req)
      return invalid_input("the block tables have row strides " +
                           std::to_string(layout.block_table_stride_req) + " and " +
                           std::to_string(stride) + ", expected one for all");
  return layout;
}

}  // namespace hybridscope
