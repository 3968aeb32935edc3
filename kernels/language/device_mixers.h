// What each kind of mixer launches on a CUDA device between its norm and the residual addition:
// run_mixer of core/numeric. All spans are in device memory.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "core/numeric/hybrid_model.h"
#include "core/numeric/model_forward.h"
#include "kernels/language/device_batch.h"

struct CUstream_st;

namespace hybridscope {

// Floats that are taken one after the other and given back all at once.
class DeviceScratch {
 public:
  static constexpr std::int64_t kAlignment = 64;   // floats, of each array
  static constexpr std::int64_t kMostArrays = 24;  // between two calls of clear()

  DeviceScratch(float* data, std::int64_t size) : data_(data), size_(size) {}
  // Requires: enough is left.
  std::span<float> take(std::int64_t count);
  void clear() { used_ = 0; }

 private:
  float* data_;
  std::int64_t size_;
  std::int64_t used_ = 0;
};
// Scratch that a mixer takes for each piece of a chunk; 0: it has no form chunked.
std::int64_t piece_floats(const HybridLayer& layer);
// Scratch that a mixer with its output, or the feed-forward layer with its own, takes at most for
// each token, alignment aside.
std::int64_t scratch_floats(const HybridLayer& layer, std::int32_t hidden_size);

struct RopeTables {
  std::int32_t rotary_dim = 0;
  std::span<const float> cosines, sines;  // [positions, rotary_dim / 2]
};

struct DeviceMixerInputs {
  std::span<const float> x;  // [T, hidden] after the norm
  std::span<const std::int32_t> positions;
  const DeviceGroup& group;
  const LayerMemory& memory;
  const RopeTables& rope;
  DeviceScratch& scratch;
  std::span<float> chunk_scratch;  // for the pieces of any part
  CUstream_st* stream = nullptr;

  std::int64_t num_tokens() const { return std::ssize(positions); }
};

// y = linear(x), [tokens, outputs]; x: [tokens, inputs].
Status launch_linear(const Linear& linear, std::int64_t num_tokens, std::span<const float> x,
                     std::span<float> y, CUstream_st* stream);

// Each writes y, [T, hidden].
Status launch_mixer(const Mamba2Mixer& mixer, const DeviceMixerInputs& in, std::span<float> y);
Status launch_mixer(const GatedDeltaNetMixer& mixer, const DeviceMixerInputs& in,
                    std::span<float> y);
Status launch_mixer(const ShortConvMixer& mixer, const DeviceMixerInputs& in, std::span<float> y);
Status launch_mixer(const AttentionMixer& mixer, const DeviceMixerInputs& in, std::span<float> y);
Status launch_feed_forward(const GatedFeedForward& layer, const DeviceMixerInputs& in,
                           std::span<float> y);

}  // namespace hybridscope
