// Which layers store states inside prefills: a policy.
#pragma once

#include <cstdint>

#include "core/base/policy_set.h"

namespace hybridscope {

// Which recurrent layers have kernels that store a state inside a prefill, in mode align? In the
// order of the releases.
enum class CheckpointLayers : std::uint8_t {
  none,
  mamba2,          // 0.32.0
  mamba2_and_gdn,  // 0.33.0: and GatedDeltaNet whose prefill kernel is FlashInfer's
};
template <>
struct PolicyOf<CheckpointLayers> : PolicyAt<CheckpointLayers::none, 58> {};

}  // namespace hybridscope
