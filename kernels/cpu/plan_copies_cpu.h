// The copies of one launch on host memory: all sources are read before anything is written.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/state/state_ops.h"
#include "kernels/copy_conflicts.h"
#include "kernels/memory_map.h"

namespace hybridscope {

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
