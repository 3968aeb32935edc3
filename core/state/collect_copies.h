// From decisions to the blocks that are copied: the one place that turns the columns of a decision
// into block ids, for every rule, runner and mode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/base/tensor_view.h"
#include "core/state/copy_decision.h"
#include "core/state/copy_launch.h"

namespace hybridscope {

// Block ids of a batch's rows in one mamba group.
struct MambaBlockTable {
  std::int32_t group = -1;                             // KV cache group number
  TensorView<std::int32_t> ids;                        // [rows, columns]
  std::span<const std::int32_t> num_blocks_per_row{};  // [rows]; empty: every column holds a block

  // kPadSlotId outside the row's blocks.
  std::int32_t block_at(std::int32_t row, std::int32_t column) const {
    if (row < 0 || row >= ids.rows || column < 0) return kPadSlotId;
    const std::int32_t num_blocks =
        num_blocks_per_row.empty() ? ids.cols : num_blocks_per_row[static_cast<std::size_t>(row)];
    return column < num_blocks ? ids.at(row, column) : kPadSlotId;
  }
};
// The mamba groups in order; rows in batch order.
using MambaBlockTables = std::span<const MambaBlockTable>;

// Which decision of the launch is carried out, and of which row.
struct DecidedRow {
  std::int32_t decision = -1;  // index into the launch's decisions
  std::int32_t row = -1;
};

// collect_mamba_copy_meta (semantics: collect-mamba-copy-meta): appends one copy a mamba group with
// the columns of `decision`; none where the decision copies nothing. Each group uses its own block
// table (known bug 42). A column outside a row's blocks gives kPadSlotId.
void collect_mamba_copy_meta(const StateCopyDecision& decision, const DecidedRow& decided,
                             MambaBlockTables tables, std::vector<StateCopyTrace>& copies);

// Collects the copies of a launch that has one decision per row: decisions[r] is about row r.
void collect_batch_copy_meta(std::span<const StateCopyDecision> decisions, MambaBlockTables tables,
                             std::vector<StateCopyTrace>& copies);

}  // namespace hybridscope
