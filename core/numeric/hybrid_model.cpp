#include "core/numeric/hybrid_model.h"

namespace hybridscope {
namespace {

struct SizeOf {
  LayerStateSize operator()(const Mamba2Mixer& mixer) const {
    const Mamba2Layer& layer = mixer.recurrence;
    return {.conv_dim = mixer.conv.dim,
            .conv_width = mixer.conv.width,
            .temporal = std::int64_t{layer.num_heads} * layer.head_dim * layer.state_size};
  }
  LayerStateSize operator()(const GatedDeltaNetMixer& mixer) const {
    const DeltaRuleLayer& layer = mixer.recurrence;
    return {.conv_dim = mixer.conv.dim,
            .conv_width = mixer.conv.width,
            .temporal = std::int64_t{layer.num_value_heads} * layer.value_dim * layer.key_dim};
  }
  LayerStateSize operator()(const ShortConvMixer& mixer) const {
    return {.conv_dim = mixer.conv.dim, .conv_width = mixer.conv.width};
  }
  LayerStateSize operator()(const AttentionMixer& mixer) const {
    return {.keys_or_values = mixer.layer.num_kv_heads * mixer.layer.head_dim};
  }
};

}  // namespace

LayerStateSize layer_state_size(const HybridLayer& layer) {
  return std::visit(SizeOf{}, layer.mixer);
}

}  // namespace hybridscope
