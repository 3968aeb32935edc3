// Scratch of the mixers: how much, and its parts.
#include <algorithm>
#include <variant>

#include "core/base/check.h"
#include "core/base/math.h"
#include "kernels/language/device_mixers.h"
#include "kernels/numeric/chunked_cuda.h"

namespace hybridscope {

std::span<float> DeviceScratch::take(std::int64_t count) {
  const std::int64_t first = used_;
  used_ += round_up(count, kAlignment);
  HS_EXPECT(used_ <= size_);
  return {data_ + first, static_cast<std::size_t>(count)};
}

std::int64_t piece_floats(const HybridLayer& layer) {
  return std::visit(
      []<class Mixer>(const Mixer& mixer) -> std::int64_t {
        if constexpr (requires { piece_floats(mixer.recurrence); })
          return piece_floats(mixer.recurrence);
        else
          return 0;
      },
      layer.mixer);
}

std::int64_t scratch_floats(const HybridLayer& layer, std::int32_t hidden_size) {
  struct Projected {
    std::int64_t operator()(const Mamba2Mixer& mixer) const {
      return 6 * std::int64_t{mixer.in_proj.outputs};
    }
    std::int64_t operator()(const GatedDeltaNetMixer& mixer) const {
      return 5 * std::int64_t{mixer.in_proj_qkv.outputs} + 3 * mixer.in_proj_z.outputs +
             2 * (mixer.in_proj_a.outputs + mixer.in_proj_b.outputs);
    }
    std::int64_t operator()(const ShortConvMixer& mixer) const {
      return 3 * std::int64_t{mixer.in_proj.outputs};
    }
    std::int64_t operator()(const AttentionMixer& mixer) const {
      return 3 * std::int64_t{mixer.q_proj.outputs} + 2 * mixer.k_proj.outputs;
    }
  };
  const std::int64_t mixer = std::visit(Projected{}, layer.mixer);
  return hidden_size + std::max(mixer, 2 * std::int64_t{layer.feed_forward.gate.outputs});
}

}  // namespace hybridscope
