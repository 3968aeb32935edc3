#include "core/numeric/model_forward.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/numeric/arithmetic.h"
#include "core/numeric/mixers.h"

namespace hybridscope {
namespace {

std::vector<float> feed_forward(const GatedFeedForward& layer, std::span<const float> x,
                                std::size_t num_tokens) {
  std::vector<float> gate = apply_linear(layer.gate, x, num_tokens);
  const std::vector<float> up = apply_linear(layer.up, x, num_tokens);
  for (std::size_t i = 0; i < gate.size(); ++i) gate[i] = silu_f32(gate[i]) * up[i];
  return apply_linear(layer.down, gate, num_tokens);
}

void add(std::vector<float>& to, std::span<const float> change) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += change[i];
}

}  // namespace

ModelForward::ModelForward(const HybridModel& model)
    : model_(model), rope_(model.rotary_dim, model.rope_theta) {}

void ModelForward::normalise(const RmsNorm& norm) {
  const auto width = static_cast<std::size_t>(model_.hidden_size);
  normed_.resize(hidden_.size());
  for (std::size_t at = 0; at < hidden_.size(); at += width)
    rms_norm(norm, std::span<const float>(hidden_).subspan(at, width),
             std::span<float>(normed_).subspan(at, width));
}

void ModelForward::run(const ForwardBatch& batch) {
  const auto width = static_cast<std::size_t>(model_.hidden_size);
  const std::size_t num_tokens = batch.token_ids.size();
  HS_EXPECT(batch.positions.size() == num_tokens);
  hidden_.clear();
  for (const std::int32_t id : batch.token_ids) {
    const auto vector = model_.embedding.subspan(static_cast<std::size_t>(id) * width, width);
    hidden_.insert(hidden_.end(), vector.begin(), vector.end());
  }
  for (std::size_t i = 0; i < model_.layers.size(); ++i) {
    const HybridLayer& layer = model_.layers[i];
    normalise(layer.mixer_norm);
    const MixerInputs inputs{
        .x = normed_,
        .positions = batch.positions,
        .group = batch.groups[static_cast<std::size_t>(batch.group_of_layer[i])],
        .memory = batch.memory[i]};
    if (const auto* attention = std::get_if<AttentionMixer>(&layer.mixer))
      add(hidden_, run_mixer(*attention, inputs, rope_));
    else if (const auto* mamba2 = std::get_if<Mamba2Mixer>(&layer.mixer))
      add(hidden_, run_mixer(*mamba2, inputs));
    else if (const auto* delta = std::get_if<GatedDeltaNetMixer>(&layer.mixer))
      add(hidden_, run_mixer(*delta, inputs));
    else
      add(hidden_, run_mixer(std::get<ShortConvMixer>(layer.mixer), inputs));
    normalise(layer.feed_forward_norm);
    add(hidden_, feed_forward(layer.feed_forward, normed_, num_tokens));
  }
  normalise(model_.final_norm);
}

void ModelForward::logits(std::int32_t token, std::span<float> out) const {
  const auto width = static_cast<std::size_t>(model_.hidden_size);
  const std::vector<float> values = apply_linear(
      model_.lm_head,
      std::span<const float>(normed_).subspan(static_cast<std::size_t>(token) * width, width), 1);
  std::ranges::copy(values, out.begin());
}

}  // namespace hybridscope
