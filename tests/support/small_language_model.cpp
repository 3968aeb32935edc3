#include "tests/support/small_language_model.h"

#include <utility>
#include <vector>

#include "core/base/fingerprint.h"

namespace hybridscope::test {
namespace {

constexpr std::int32_t kHidden = 16;
constexpr std::int32_t kInner = 24;

// Values within `scale` of `center`, each drawn by its own key.
std::span<const float> draw(HybridModel& model, std::int32_t count, float scale,
                            float center = 0.0F) {
  std::vector<float> values;
  for (std::int32_t i = 0; i < count; ++i) {
    const std::uint64_t bits = mix(model.tensors.size() + 1, static_cast<std::uint64_t>(i)) >> 40;
    values.push_back(center + scale * (static_cast<float>(bits) * 0x1p-23F - 1.0F));
  }
  model.tensors.push_back(std::move(values));
  return model.tensors.back();
}

Linear linear(HybridModel& model, std::int32_t outputs, std::int32_t inputs) {
  return {.weight = draw(model, outputs * inputs, 0.6F), .outputs = outputs};
}

RmsNorm norm(HybridModel& model, std::int32_t size) {
  return {.weight = draw(model, size, 0.2F, 1.0F), .eps = 1e-6F};
}

ConvLayer conv(HybridModel& model, std::int32_t dim, std::int32_t width,
               ConvActivation activation) {
  return {.dim = dim,
          .width = width,
          .state_len = width - 1,
          .weight = draw(model, dim * width, 0.7F),
          .activation = activation};
}

AttentionMixer attention(HybridModel& model) {
  AttentionMixer mixer;
  mixer.layer = {.num_heads = 2, .num_kv_heads = 1, .head_dim = 8};
  mixer.q_proj = linear(model, 16, kHidden);
  mixer.k_proj = linear(model, 8, kHidden);
  mixer.v_proj = linear(model, 8, kHidden);
  mixer.o_proj = linear(model, kHidden, 16);
  return mixer;
}

GatedDeltaNetMixer gated_delta_net(HybridModel& model) {
  GatedDeltaNetMixer mixer;
  mixer.in_proj_qkv = linear(model, 24, kHidden);
  mixer.in_proj_z = linear(model, 8, kHidden);
  mixer.in_proj_b = linear(model, 2, kHidden);
  mixer.in_proj_a = linear(model, 2, kHidden);
  mixer.conv = conv(model, 24, 4, ConvActivation::silu);
  mixer.recurrence = {.num_key_heads = 2,
                      .num_value_heads = 2,
                      .key_dim = 4,
                      .value_dim = 4,
                      .A_log = draw(model, 2, 0.5F),
                      .dt_bias = draw(model, 2, 0.5F)};
  mixer.norm = norm(model, 4);
  mixer.out_proj = linear(model, kHidden, 8);
  return mixer;
}

ShortConvMixer short_conv(HybridModel& model) {
  ShortConvMixer mixer;
  mixer.in_proj = linear(model, 3 * kHidden, kHidden);
  mixer.conv = conv(model, kHidden, 3, ConvActivation::none);
  mixer.out_proj = linear(model, kHidden, kHidden);
  return mixer;
}

}  // namespace

HybridModel small_language_model() {
  HybridModel model;
  model.vocab_size = kSmallVocabulary;
  model.hidden_size = kHidden;
  model.rotary_dim = 8;
  model.rope_theta = 10000;
  model.embedding = draw(model, kSmallVocabulary * kHidden, 1.0F);
  for (int i = 0; i < 3; ++i) {
    HybridLayer layer;
    layer.mixer_norm = norm(model, kHidden);
    if (i == 0) layer.mixer = attention(model);
    if (i == 1) layer.mixer = gated_delta_net(model);
    if (i == 2) layer.mixer = short_conv(model);
    layer.feed_forward_norm = norm(model, kHidden);
    layer.feed_forward = {.gate = linear(model, kInner, kHidden),
                          .up = linear(model, kInner, kHidden),
                          .down = linear(model, kHidden, kInner)};
    model.layers.push_back(std::move(layer));
  }
  model.final_norm = norm(model, kHidden);
  model.lm_head = {.weight = model.embedding, .outputs = kSmallVocabulary};
  return model;
}

}  // namespace hybridscope::test
