// Copies and hashes of state bytes in host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/base/result.h"
#include "core/state/state_backend.h"
#include "core/state/state_copy.h"
#include "core/state/state_memory.h"
#include "core/state/state_ops.h"
#include "kernels/memory_map.h"
#include "kernels/memory_view.h"
#include "kernels/state_hash.h"
#include "kernels/step_plan.h"

namespace hybridscope {

// Moves the rows of a copy within `state` (element [0, 0, ...] of its tensor), with memmove
// semantics as a whole. Requires: rows do not overlap each other.
void move_rows(const StateCopy& copy, std::byte* state);

// Runs one copy: as if the whole source were read before the destination is written
// (known bug 4). Requires: regions inside the state's bytes; rows do not overlap each other.
void execute_copy(const StateCopy& copy, std::span<std::byte> state);

// Runs the copies in order. Always Ok, which lets it stand beside copies on a device. Requires:
// those of execute_copy; states that exist.
Status execute_copies(std::span<const StateCopy> copies, HostStateBytes states);

// The copies of one launch on host memory: all sources are read before anything is written.

class PlanCopiesCpu {
 public:
  explicit PlanCopiesCpu(std::int32_t num_blocks) : conflicts_(num_blocks) {}

  // Copies that do not conflict go straight from page to page, others through a second buffer: read
  // all, then write one after the other. Requires: expect_valid.
  void run(const MemoryMap& map, std::span<const StateCopyOp> copies);

 private:
  void run_staged(const MemoryMap& map, std::span<const StateCopyOp> copies);

  CopyConflicts conflicts_;
  std::vector<std::byte> staging_;
};

// Hashes of the states that blocks hold in host memory.

// Writes sums [blocks.size(), num_sums(states)], row-major. Rows of ids below 1 or of num_blocks
// and more are 0. Requires: check_hashed(states) is Ok; sums of that size.
void hash_states(const HashedStates& states, std::span<const std::int32_t> blocks,
                 std::span<std::uint64_t> sums);

// Runs of elements in host memory.

// The pattern of kPoison; `num_bytes` is even.
void fill_poison(std::byte* to, std::int64_t num_bytes);

// Elements [0, count) of a content, contiguous (trace_element).
void store_trace_elements(std::byte* to, std::int64_t count, std::int32_t elem_size,
                          Fingerprint fingerprint);

// All channels of a conv position, from and to dense elements [dim].
void load_position(const StateView& state, const std::byte* block, std::int64_t position,
                   std::byte* to);
void store_position(const StateView& state, std::byte* block, std::int64_t position,
                    const std::byte* from);

// The bytes that a state of a block should hold, in the state's own order, and the first place
// where a block differs.

// Replaces `image` by one block of the state. Requires: a content of the state's kind that has a
// fingerprint for each conv position.
void make_trace_image(const StateView& state, const BlockContent& content,
                      std::span<const Fingerprint> conv_fingerprints,
                      std::vector<std::byte>& image);

struct ElementDifference {
  std::int64_t element = 0;  // as in StateMismatch
  std::uint64_t expected = 0;
  std::uint64_t seen = 0;
};

std::optional<ElementDifference> first_difference(const StateView& state, const std::byte* block,
                                                  std::span<const std::byte> image);

}  // namespace hybridscope
