// The copies that a fused kernel makes for one batch row: one program per state, each with the
// block table of its own group (known bug 42a).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/base/tensor_view.h"
#include "core/state/copy_decision.h"
#include "core/state/state_copy.h"
#include "core/state/state_layout.h"

namespace hybridscope {

// One per mamba group, [rows, columns] int32.
using BlockTables = std::span<const TensorView<std::int32_t>>;

// A copy of one program (row, state) of a fused kernel.
struct RowStateCopy {
  std::int32_t row = 0;  // batch row
  StateCopy copy;
  friend bool operator==(const RowStateCopy&, const RowStateCopy&) = default;
};

struct FusedCopyRow {
  std::int32_t row = 0;  // of the block tables
  StateCopyColumns columns;
};

// Appends the copies of all states, ascending; states with nothing to copy are left out. Columns
// decide, never addresses (known bug 42d). Errors: a negative bias, not one table per group, a row
// or column outside the table, a block outside the state; `copies` is then incomplete.
Status append_row_copies(const StateLayout& layout, BlockTables block_tables,
                         const FusedCopyRow& row, std::vector<RowStateCopy>& copies);

}  // namespace hybridscope
