// How much one step can ask of a StateBackend, so that the backend can allocate for the largest
// step before the first.
#pragma once

#include <cstdint>

#include "core/state/state_memory.h"
#include "core/state/state_ops.h"

namespace hybridscope {

// Elements of the arrays of StateOps.
struct StepSize {
  std::int64_t num_poisoned = 0;
  std::int64_t num_copies = 0;
  std::int64_t num_rows = 0;
  std::int64_t num_writes = 0;
  std::int64_t num_tokens = 0;
  friend bool operator==(const StepSize&, const StepSize&) = default;

  // Is every array of `step` at most as long as here?
  bool holds(const StepSize& step) const;
};

StepSize size_of(const StateOps& ops);

// The limits that an engine's configuration sets to each of its steps.
struct StepLimits {
  std::int64_t max_num_batched_tokens = 0;
  std::int64_t max_num_rows = 0;  // of a batch, padding rows included
};

// The largest step of an engine within `limits`, as long as no two rows of a group write the same
// block: each row has its own blocks, writes each kind of state of a block once, and stores at most
// one state per token and one at its end; a launch of copies writes a block once; a block is given
// out twice in a step only if its first owner was preempted. An engine that breaks these rules, or
// a trace without known limits, may have larger steps.
StepSize largest_step(const StateMemory& memory, const StepLimits& limits);

}  // namespace hybridscope
