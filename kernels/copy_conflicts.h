// Do copies of one launch conflict? Sources are read before anything is written (semantics: I13),
// so such copies cannot all run at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/state/state_ops.h"

namespace hybridscope {

class CopyConflicts {
 public:
  explicit CopyConflicts(std::int32_t num_blocks);

  // Is a block written by two copies, or read by one and written by another? The groups do not
  // matter: pages of all groups lie in the same buffers.
  bool found_in(std::span<const StateCopyOp> copies);

 private:
  std::vector<std::int32_t> written_by_;  // [num_blocks] copy + 1; 0 between two calls
};

}  // namespace hybridscope
