// What a planned copy does to one state of its group's layers.
#pragma once

#include <cstdint>

#include "core/base/host_device.h"
#include "core/model/kv_cache_spec.h"
#include "core/state/state_copy.h"
#include "core/state/state_ops.h"

namespace hybridscope {

// The block that the copy reads for states of this kind (semantics: collect-mamba-copy-meta).
HS_HOST_DEVICE constexpr std::int32_t src_block_of(StateKind kind, const StateCopyOp& op) {
  return kind == StateKind::conv ? op.conv_src_block : op.temporal_src_block;
}

struct CopyOfState {
  StateCopy copy;
  bool poison = false;  // the source cannot be read: the copy's target becomes poison
};

// make_state_copy with the source block that the copy has for the state's kind.
HS_HOST_DEVICE constexpr CopyOfState make_copy_of_state(std::int32_t state_index,
                                                        const StateGeometry& state,
                                                        const StateCopyOp& op) {
  const std::int32_t source =
      src_block_of(state.is_conv() ? StateKind::conv : StateKind::temporal, op);
  CopyOfState result;
  result.poison = source < 0;
  result.copy = make_state_copy(state_index, state,
                                {.src_block = result.poison ? op.dst_block : source,
                                 .dst_block = op.dst_block,
                                 .accept_token_bias = op.accept_token_bias});
  return result;
}

// One call of use(CopyOfState) for each state of the copy's group, ascending. `states` has
// num_states() and geometry(state_index): a StateLayout, or the memory of a backend.
template <class States, class Use>
constexpr void for_each_copy_of_state(const States& states, const StateCopyOp& op, const Use& use) {
  for (std::int32_t i = 0; i < states.num_states(); ++i) {
    const StateGeometry& state = states.geometry(i);
    if (state.group_index == op.group_index) use(make_copy_of_state(i, state, op));
  }
}

}  // namespace hybridscope
