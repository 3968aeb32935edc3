#include "core/state/state_memory.h"

#include <algorithm>
#include <string>

namespace hybridscope {
namespace {

std::int32_t dtype_size(Dtype dtype) { return dtype == Dtype::float32 ? 4 : 2; }

// Lays the states one after the other from the start of the page, as tensors of shape [num_blocks,
// ...] with a block stride of one page.
Status lay_out(const MambaSpec& spec, StateMemory& memory, MambaLayerStates& layer) {
  std::int64_t offset = 0;
  memory.state_offsets.clear();
  for (std::size_t i = 0; i < spec.states.size(); ++i) {
    const StateTensorSpec& state = spec.states[i];
    StateTensor tensor;
    tensor.elem_size = dtype_size(state.dtype);
    if (offset % tensor.elem_size != 0 || spec.page_size_bytes % tensor.elem_size != 0)
      return invalid_input(
          "state " + std::to_string(i) + " begins at byte " + std::to_string(offset) +
          " of a page of " + std::to_string(spec.page_size_bytes) +
          " bytes, expected multiples of its element size " + std::to_string(tensor.elem_size));
    tensor.shape.push_back(memory.num_blocks);
    tensor.shape.insert(tensor.shape.end(), state.shape.begin(), state.shape.end());
    tensor.stride.assign(tensor.shape.size(), 1);
    for (std::size_t dim = tensor.shape.size() - 1; dim > 1; --dim)
      tensor.stride[dim - 1] = tensor.stride[dim] * tensor.shape[dim];
    tensor.stride[0] = spec.page_size_bytes / tensor.elem_size;
    memory.state_offsets.push_back(offset);
    offset += tensor.elements_per_block() * tensor.elem_size;
    layer.states.push_back(std::move(tensor));
  }
  if (offset > spec.page_size_bytes)
    return invalid_input("the states of a layer take " + std::to_string(offset) +
                         " bytes, more than a page of " + std::to_string(spec.page_size_bytes));
  return Ok{};
}

void append_group(StateMemory& memory, const KVCacheGroup& group, const MambaLayerStates& layer,
                  std::int32_t max_layers) {
  const auto num_layers = static_cast<std::int32_t>(group.layers.size());
  const std::int32_t kept = max_layers > 0 ? std::min(max_layers, num_layers) : num_layers;
  for (std::int32_t i = 0; i < kept; ++i) {
    memory.tensors.layers.push_back(layer);
    memory.layer_buffers.push_back(i);
  }
  memory.num_buffers = std::max(memory.num_buffers, kept);
}

}  // namespace

Result<StateMemory> make_state_memory(const KVCacheConfig& config,
                                      const StateMemoryOptions& options) {
  StateMemory memory;
  memory.num_blocks = config.num_blocks;
  memory.conv_kernel = options.conv_kernel;
  memory.tensors.conv_state_layout = options.conv_state_layout;
  const Result<MambaGroups> groups = get_mamba_groups(config);
  if (!groups) return groups.error();
  const MambaSpec& spec = groups.value().spec;
  memory.page_size_bytes = spec.page_size_bytes;
  memory.tensors.block_size = spec.block_size;
  memory.tensors.mamba_group_ids = groups.value().group_ids;
  for (const StateTensorSpec& state : spec.states)
    memory.tensors.state_kinds.emplace_back(state.kind);
  MambaLayerStates layer;
  if (Status status = lay_out(spec, memory, layer); !status) return status.error();
  for (std::size_t i = 0; i < memory.tensors.mamba_group_ids.size(); ++i) {
    layer.group_index = static_cast<std::int32_t>(i);
    const auto group = static_cast<std::size_t>(memory.tensors.mamba_group_ids[i]);
    append_group(memory, config.groups[group], layer, options.max_layers);
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  if (memory.page_size_bytes > kMost / std::max(memory.num_buffers, 1) / memory.num_blocks)
    return invalid_input(std::to_string(memory.num_buffers) + " buffers of " +
                         std::to_string(memory.num_blocks) + " pages of " +
                         std::to_string(memory.page_size_bytes) +
                         " bytes exceed the addressable size");
  const std::vector<std::int64_t> strides(memory.tensors.mamba_group_ids.size(), 0);
  auto layout = make_state_layout(memory.tensors, strides);
  if (!layout) return layout.error();
  memory.layout = std::move(layout).value();
  return memory;
}

Result<MambaGroups> get_mamba_groups(const KVCacheConfig& kv_cache_config) {
  MambaGroups result;
  for (std::size_t i = 0; i < kv_cache_config.groups.size(); ++i) {
    const KVCacheGroup& group = kv_cache_config.groups[i];
    if (!group.is_mamba()) continue;
    const auto& spec = std::get<MambaSpec>(group.spec);
    if (result.group_ids.empty()) {
      result.spec = spec;
    } else if (result.spec != spec) {
      return invalid_input(
          "KV cache group " + std::to_string(i) +
          " has another spec than the mamba group before it, expected one for all");
    }
    result.group_ids.push_back(static_cast<std::int32_t>(i));
  }
  if (result.group_ids.empty()) return invalid_input("the model has no recurrent layer");
  return result;
}

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
