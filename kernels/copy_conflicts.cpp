#include "kernels/copy_conflicts.h"

#include <algorithm>

namespace hybridscope {

CopyConflicts::CopyConflicts(std::int32_t num_blocks)
    : written_by_(static_cast<std::size_t>(num_blocks), 0) {}

bool CopyConflicts::found_in(std::span<const StateCopyOp> copies) {
  const auto writer = [this](std::int32_t block) -> std::int32_t& {
    return written_by_[static_cast<std::size_t>(block)];
  };
  bool found = false;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    found = found || writer(copies[i].dst_block) != 0;
    writer(copies[i].dst_block) = static_cast<std::int32_t>(i) + 1;
  }
  const auto reads_foreign = [&](std::size_t i, std::int32_t block) {
    return block >= 0 && writer(block) != 0 && writer(block) != static_cast<std::int32_t>(i) + 1;
  };
  for (std::size_t i = 0; i < copies.size() && !found; ++i)
    found = reads_foreign(i, copies[i].conv_src_block) ||
            reads_foreign(i, copies[i].temporal_src_block);
  for (const StateCopyOp& copy : copies) writer(copy.dst_block) = 0;
  return found;
}

}  // namespace hybridscope
