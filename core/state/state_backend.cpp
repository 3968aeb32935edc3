#include "core/state/state_backend.h"

#include <algorithm>
#include <iterator>

namespace hybridscope {

bool StepSize::holds(const StepSize& step) const {
  return step.num_poisoned <= num_poisoned && step.num_copies <= num_copies &&
         step.num_rows <= num_rows && step.num_writes <= num_writes &&
         step.num_tokens <= num_tokens;
}

StepSize size_of(const StateOps& ops) {
  return {.num_poisoned = std::ssize(ops.poisoned),
          .num_copies = std::ssize(ops.copies),
          .num_rows = std::ssize(ops.rows),
          .num_writes = std::ssize(ops.writes),
          .num_tokens = std::ssize(ops.tokens)};
}

StepSize largest_step(const StateMemory& memory, const StepLimits& limits) {
  const auto num_groups = std::ssize(memory.tensors.mamba_group_ids);
  const std::int64_t num_blocks = memory.num_blocks;
  const std::int64_t rows = num_groups * limits.max_num_rows;
  const std::int64_t tokens = num_groups * limits.max_num_batched_tokens;
  // Per row one pre-copy and one copy to column 0; after the forward pass one copy per full block.
  const std::int64_t copies = std::min(2 * rows + tokens, 3 * num_blocks);
  // Each kind of state has one write per token and one at each row's end, at most one per block.
  const std::int64_t writes = std::min(4 * tokens, 2 * num_blocks);
  return {.num_poisoned = 2 * num_blocks,
          .num_copies = copies,
          .num_rows = rows,
          .num_writes = writes + rows,  // a padding row writes the null block
          .num_tokens = limits.max_num_batched_tokens + rows};  // and folds a token of its own
}

}  // namespace hybridscope
