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

}  // namespace hybridscope
