// What each kind of mixer does with a batch between its norm and the residual addition.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/numeric/model_forward.h"

namespace hybridscope {

// y = linear(x) for every token of a batch; x: [T, inputs].
std::vector<float> apply_linear(const Linear& linear, std::span<const float> x,
                                std::size_t num_tokens);

struct MixerInputs {
  std::span<const float> x;  // [T, hidden] after the norm
  std::span<const std::int32_t> positions;
  const ForwardGroup& group;
  const LayerMemory& memory;
  std::size_t num_tokens() const { return positions.size(); }
};

// Each returns [T, hidden].
std::vector<float> run_mixer(const Mamba2Mixer& mixer, const MixerInputs& in);
std::vector<float> run_mixer(const GatedDeltaNetMixer& mixer, const MixerInputs& in);
std::vector<float> run_mixer(const ShortConvMixer& mixer, const MixerInputs& in);
std::vector<float> run_mixer(const AttentionMixer& mixer, const MixerInputs& in, RopeTable& rope);

}  // namespace hybridscope
