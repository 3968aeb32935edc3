// State in real bytes: memory laid out as StateMemory says, on the CPU or a GPU. There are two
// implementations (kernels/cpu, kernels/cuda); both hold the same bytes after the same calls.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/base/result.h"
#include "core/model/kv_cache_spec.h"
#include "core/state/state_memory.h"
#include "core/state/state_ops.h"

namespace hybridscope {

// What one kind of state of a block holds, in every layer of a group.
struct BlockContent {
  StateKind kind = StateKind::temporal;
  std::int32_t group_index = 0;  // into the mamba groups
  std::int32_t block = 0;
  Fingerprint fingerprint = 0;      // temporal
  std::int32_t first_position = 0;  // conv: into conv_fingerprints
};
struct BlockContents {
  std::vector<BlockContent> blocks;
  std::vector<Fingerprint> conv_fingerprints;  // [conv states, state_len] one per position
};

// The first element, row-major, of one layer's state that is not what the content says.
struct StateMismatch {
  std::int32_t content = 0;      // into BlockContents::blocks
  std::int32_t state_index = 0;  // flat: layer * number of state kinds + state
  std::int64_t element = 0;      // temporal: in the state; conv: position * dim + channel
  std::uint64_t expected = 0;
  std::uint64_t seen = 0;
  friend bool operator==(const StateMismatch&, const StateMismatch&) = default;
};

// What run() did since creation besides carrying out steps. Both stay 0 on the CPU.
struct StateDelays {
  std::int64_t num_allocations = 0;  // of memory for a step larger than any before
  std::int64_t num_waits = 0;        // for a device that was too many steps behind
  friend bool operator==(const StateDelays&, const StateDelays&) = default;
};

// All bytes begin as poison; padding stays poison.
class StateBackend {
 public:
  virtual ~StateBackend() = default;

  virtual const StateMemory& memory() const = 0;

  // Carries out the operations, in order. Requires: blocks inside the memory, at most
  // kMaxConvKernel - 1 prior tokens. Error: the device's.
  virtual Status run(const StateOps& ops) = 0;
  // Compares every element that the contents name. Mismatches in order of content, then state
  // index.
  virtual Result<std::vector<StateMismatch>> verify(const BlockContents& contents) = 0;
  // One 64-bit digest a block, over all bytes of its pages in all buffers, padding included: equal
  // bytes have equal digests on every backend.
  virtual Result<std::vector<std::uint64_t>> digests(std::span<const std::int32_t> blocks) = 0;

  virtual StateDelays delays() const = 0;
};

// How much one step can ask of a StateBackend, so that the backend can allocate for the largest
// step before the first.

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
