// Executes copy plans on state bytes in host memory.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/state/state_copy.h"
#include "core/state/state_layout.h"
#include "core/state/state_ops.h"
#include "kernels/memory_map.h"
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

}  // namespace hybridscope
