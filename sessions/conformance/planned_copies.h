// The copies of a launch as the vectors list them: what each moves in each state of each layer.
// Blocks become bytes in core/state/copy_of_state.h and state_copy.h, as in the backends that hold
// state; here are the checks of foreign numbers and the two forms of the lists.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/state/copy_launch.h"
#include "core/state/state_copy.h"
#include "core/state/state_layout.h"
#include "core/state/state_tensor.h"

namespace hybridscope {

// A copy of one program (row, state) of a fused kernel.
struct RowStateCopy {
  std::int32_t row = 0;  // batch row
  StateCopy copy;
  friend bool operator==(const RowStateCopy&, const RowStateCopy&) = default;
};

// The copies of a fused kernel, by copy of the launch, then state; states with nothing to copy are
// left out. Columns decide, never addresses (known bug 42d). Errors: a copy of a group that the
// layout lacks, a negative bias, a block outside the state.
Result<std::vector<RowStateCopy>> plan_fused_copies(const StateLayout& layout,
                                                    const CopyLaunch& launch);

// The copies of V1's batched memcpy, one region each (semantics: do-mamba-copy-block), in the same
// order; a slice that is empty gives a copy of 0 bytes. Errors as above, and a copy that
// get_copy_spec refuses (DS with an accepted count above 1).
Result<std::vector<StateCopy>> plan_batched_copies(const MambaStateTensors& tensors,
                                                   const CopyLaunch& launch);

}  // namespace hybridscope
