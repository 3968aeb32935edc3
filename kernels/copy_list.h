// Planned copies with the addresses of their tensors: the list that a batched memcpy takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/state/state_copy.h"

namespace hybridscope {

struct ListedCopy {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::int64_t num_rows = 1;
  std::int64_t row_bytes = 0;
  std::int64_t row_stride_bytes = 0;
};

// Element [0, 0, ...] of state i is at bases[i]. Empty copies are left out.
std::vector<ListedCopy> list_copies(std::span<const StateCopy> copies,
                                    std::span<std::byte* const> bases);

// Does one of them write what another reads or writes? Compares each copy from first to last byte:
// rows that only lie in each other's gaps count as well.
bool copies_meet(std::span<const ListedCopy> copies);

}  // namespace hybridscope
