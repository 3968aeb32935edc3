// Policies on what recurrent layers keep: states inside prefills, and the length of conv states.
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

// How many positions a conv state gets when the model speculates with K drafts
// (semantics: conv-state-sizing; known bug 25).
// kernel_plus_spec: W-1+K for every family, so that a verify window always fits; families whose
// shape function takes no num_spec (mamba1, short_conv, kda) are given a conv kernel K wider
// instead.
// as_reference: W-1+K only where the reference's model code passes K on, else W-1.
// by_state_shape: where the family's shape function takes num_spec (mamba2, gated_delta_net), which
// every model passes from 0.32.0 on.
enum class ConvStateSizing : std::uint8_t { kernel_plus_spec, as_reference, by_state_shape };
template <>
struct PolicyOf<ConvStateSizing> : PolicyAt<ConvStateSizing::kernel_plus_spec, 57> {};

}  // namespace hybridscope
