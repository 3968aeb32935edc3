// How much one step can ask of a StateBackend, so that whoever carries steps out can make room for
// the largest one before the first.
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

  // Is no array of `step` longer than this one's?
  bool holds(const StepSize& step) const;
};

StepSize size_of(const StateOps& ops);

// What an engine's configuration says about every step of it.
struct StepLimits {
  std::int64_t max_num_batched_tokens = 0;
  std::int64_t max_num_rows = 0;  // of a batch, padding rows included
};

// The largest step that an engine within `limits` decides on while no block is written by two rows
// of a group: each row has its own blocks, writes a block and a kind of state once, and stores at
// most one state a token and one at its end; a launch of copies writes a block once; of a block
// that is given out twice in a step the first owner was preempted. Steps of an engine that breaks
// these rules, and of a trace that no limits are known of, may be larger.
StepSize largest_step(const StateMemory& memory, const StepLimits& limits);

}  // namespace hybridscope
