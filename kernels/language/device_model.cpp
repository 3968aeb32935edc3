#include "kernels/language/device_model.h"

#include <map>
#include <utility>

#include "core/base/math.h"
#include "kernels/cuda/cuda_check.h"

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

}  // namespace hybridscope
