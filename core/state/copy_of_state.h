// What a planned copy does to one state of its group's layers.
#pragma once

#include <cstdint>

#include "core/base/host_device.h"
#include "core/state/state_copy.h"
#include "core/state/state_ops.h"

namespace hybridscope {

struct CopyOfState {
  StateCopy copy;
  bool poison = false;  // the source cannot be read: the copy's target becomes poison
};

// make_state_copy with the source block that the copy has for the state's kind
// (semantics: collect-mamba-copy-meta).
HS_HOST_DEVICE constexpr CopyOfState make_copy_of_state(std::int32_t state_index,
                                                        const StateGeometry& state,
                                                        const StateCopyOp& op) {
  const std::int32_t source = state.is_conv() ? op.conv_src_block : op.temporal_src_block;
  CopyOfState result;
  result.poison = source < 0;
  result.copy = make_state_copy(state_index, state,
                                {.src_block = result.poison ? op.dst_block : source,
                                 .dst_block = op.dst_block,
                                 .accept_token_bias = op.accept_token_bias});
  return result;
}

}  // namespace hybridscope
