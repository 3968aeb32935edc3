#include "kernels/language/device_model.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/math.h"

namespace hybridscope {
namespace {

// Calls `visit` with every span of weights of a part of a model.
template <class Visit>
struct Weights {
  Visit visit;

  void operator()(Linear& linear) const {
    visit(linear.weight);
    visit(linear.bias);
  }
  void operator()(RmsNorm& norm) const { visit(norm.weight); }
  void operator()(ConvLayer& conv) const {
    visit(conv.weight);
    visit(conv.bias);
  }
  void operator()(Mamba2Mixer& mixer) const {
    all(mixer.in_proj, mixer.conv, mixer.norm, mixer.out_proj);
    visit(mixer.recurrence.A_log);
    visit(mixer.recurrence.D);
    visit(mixer.recurrence.dt_bias);
  }
  void operator()(GatedDeltaNetMixer& mixer) const {
    all(mixer.in_proj_qkv, mixer.in_proj_z, mixer.in_proj_b, mixer.in_proj_a, mixer.conv,
        mixer.norm, mixer.out_proj);
    visit(mixer.recurrence.A_log);
    visit(mixer.recurrence.dt_bias);
  }
  void operator()(ShortConvMixer& mixer) const { all(mixer.in_proj, mixer.conv, mixer.out_proj); }
  void operator()(AttentionMixer& mixer) const {
    all(mixer.q_proj, mixer.k_proj, mixer.v_proj, mixer.o_proj, mixer.q_norm, mixer.k_norm);
  }
  void operator()(HybridModel& model) const {
    visit(model.embedding);
    for (HybridLayer& layer : model.layers) {
      all(layer.mixer_norm, layer.feed_forward_norm, layer.feed_forward.gate, layer.feed_forward.up,
          layer.feed_forward.down);
      std::visit(*this, layer.mixer);
    }
    all(model.final_norm, model.lm_head);
  }

 private:
  template <class... Parts>
  void all(Parts&... parts) const {
    ((*this)(parts), ...);
  }
};

constexpr std::int64_t kAlignment = 256;  // bytes

}  // namespace

Result<DeviceModel> DeviceModel::create(const HybridModel& model, int device) {
  DeviceModel made;
  made.model_.vocab_size = model.vocab_size;
  made.model_.hidden_size = model.hidden_size;
  made.model_.rotary_dim = model.rotary_dim;
  made.model_.rope_theta = model.rope_theta;
  made.model_.embedding = model.embedding;
  made.model_.layers = model.layers;
  made.model_.final_norm = model.final_norm;
  made.model_.lm_head = model.lm_head;
  // Weights that two layers share are copied once.
  std::map<std::span<const float>::pointer, std::pair<std::span<const float>, std::int64_t>> places;
  std::int64_t bytes = 0;
  const auto place = [&](std::span<const float>& weights) {
    if (weights.empty() || !places.try_emplace(weights.data(), weights, bytes).second) return;
    bytes += round_up(static_cast<std::int64_t>(weights.size_bytes()), kAlignment);
  };
  Weights{place}(made.model_);
  if (Status status = made.memory_.reserve(device, bytes); !status) return status.error();
  for (const auto& [data, placed] : places)
    HS_CUDA(device, cudaMemcpy, made.memory_.data() + placed.second, data,
            placed.first.size_bytes(), cudaMemcpyHostToDevice);
  const auto move = [&](std::span<const float>& weights) {
    if (weights.empty()) return;
    const std::int64_t offset = places.at(weights.data()).second;
    weights = {reinterpret_cast<const float*>(made.memory_.data() + offset), weights.size()};
  };
  Weights{move}(made.model_);
  return Result<DeviceModel>(std::move(made));
}

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
