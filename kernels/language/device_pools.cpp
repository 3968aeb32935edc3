#include "kernels/language/device_pools.h"

#include <algorithm>
#include <utility>

#include "core/base/math.h"
#include "kernels/cuda/cuda_check.h"

namespace hybridscope {
namespace {

constexpr std::int64_t kPoolAlignment = 64;  // floats

std::int64_t room_of(std::int64_t block_elements, std::int32_t num_blocks) {
  return round_up(block_elements * num_blocks, kPoolAlignment);
}

}  // namespace

Result<DevicePools> DevicePools::create(const LanguageLayout& layout, const ConvRoom& room,
                                        int device) {
  DevicePools pools;
  const auto shares = [&](const BlockElements& block) {
    return room.missing > 0 && block.temporal > 0;
  };
  std::int64_t elements = 0;
  for (const BlockElements& block : layout.blocks) {
    const std::int64_t states = block.conv + block.temporal;
    elements += shares(block) ? room_of(states, layout.num_blocks)
                              : room_of(block.conv, layout.num_blocks) +
                                    room_of(block.temporal, layout.num_blocks);
    elements += 2 * room_of(block.keys_or_values, layout.num_blocks);
  }
  const std::int64_t bytes = elements * static_cast<std::int64_t>(sizeof(float));
  if (Status status = pools.memory_.reserve(device, bytes); !status) return status.error();
  if (bytes > 0)
    HS_CUDA(device, cudaMemset, pools.memory_.data(), 0, static_cast<std::size_t>(bytes));
  auto* next = reinterpret_cast<float*>(pools.memory_.data());
  const auto take = [&](std::int64_t block_elements) {
    float* const at = next;
    next += room_of(block_elements, layout.num_blocks);
    return std::span<float>(at, static_cast<std::size_t>(block_elements * layout.num_blocks));
  };
  // A window, and behind it in the block's page the temporal state, which rows may write into.
  const auto take_pages = [&](const BlockElements& block) {
    const std::int64_t page = block.conv + block.temporal;
    const std::span<float> pages = take(page);
    return LayerMemory{
        .conv = {pages, page, page},
        .temporal = {pages.subspan(static_cast<std::size_t>(block.conv)), block.temporal, page},
        .kv = {}};
  };
  std::vector<LayerPools> table;
  for (std::size_t i = 0; i < layout.num_layers(); ++i) {
    const BlockElements& block = layout.blocks[i];
    LayerMemory& view = pools.views_.emplace_back(
        shares(block)
            ? take_pages(block)
            : LayerMemory{.conv = {take(block.conv), block.conv, block.conv},
                          .temporal = {take(block.temporal), block.temporal, block.temporal},
                          .kv = {}});
    view.kv = {take(block.keys_or_values), take(block.keys_or_values)};
    const std::int32_t group = layout.group_of_layer[i];
    const auto mamba = std::ranges::find(layout.mamba_groups, group);
    table.push_back(
        {.conv = view.conv.data.data(),
         .temporal = view.temporal.data.data(),
         .keys = view.kv.keys.data(),
         .values = view.kv.values.data(),
         .conv_elements = block.conv,
         .temporal_elements = block.temporal,
         .kv_elements = block.keys_or_values,
         .conv_stride = view.conv.stride,
         .temporal_stride = view.temporal.stride,
         .conv_dim = layout.conv_dim[i],
         .group = group,
         .mamba_group = mamba == layout.mamba_groups.end()
                            ? -1
                            : static_cast<std::int32_t>(mamba - layout.mamba_groups.begin())});
  }
  const auto table_bytes = static_cast<std::int64_t>(table.size() * sizeof(LayerPools));
  if (Status status = pools.table_memory_.reserve(device, table_bytes); !status)
    return status.error();
  if (!table.empty())
    HS_CUDA(device, cudaMemcpy, pools.table_memory_.data(), table.data(),
            static_cast<std::size_t>(table_bytes), cudaMemcpyHostToDevice);
  pools.table_ = {reinterpret_cast<const LayerPools*>(pools.table_memory_.data()), table.size()};
  return Result<DevicePools>(std::move(pools));
}

}  // namespace hybridscope
