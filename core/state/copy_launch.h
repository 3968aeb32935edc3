// What one launch of state copies decided and does, as values: the same for our runners, for an
// engine that is judged, and for reference vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/base/tensor_view.h"
#include "core/state/copy_decision.h"

namespace hybridscope {

// One decision about copying state, of whichever rule; `copies` of the launch refer to it.
struct CopyDecisionTrace {
  RequestId request{};
  std::int32_t row = -1;
  StateCopyDecision decision;
};

// A decision carried out in one KV-cache group: conv positions bias.. of conv_src go to positions
// 0.. of dst; the temporal state of temporal_src goes to dst. Block ids are physical.
struct StateCopyTrace {
  std::int32_t decision = -1;  // index into the launch's decisions
  std::int32_t group = -1;
  std::int32_t conv_src_block = 0;
  std::int32_t temporal_src_block = 0;
  std::int32_t dst_block = 0;
  std::int32_t accept_token_bias = 0;
};

// Copies of one launch have no order among themselves.
struct CopyLaunch {
  std::vector<CopyDecisionTrace> decisions;  // every row's, also those that copy nothing
  std::vector<StateCopyTrace> copies;
  void clear() {
    decisions.clear();
    copies.clear();
  }
};

// From decisions to the blocks that are copied: the one place that turns the columns of a decision
// into block ids, for every rule, runner and mode.

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

// How post-copies change in engines that differ from the reference: one function for each
// difference, called by the engine where a policy asks for it.

// A copy whose destination is left of the running column is not made.
void suppress_backward_copies(std::span<StateCopyDecision> decisions);

// V2: the first program of a row writes the accepted count of 1 in place, and those that run later
// find it and copy nothing (known bug 3). Decisions of other rules stay.
void skip_copies_with_reset_in_place(std::span<StateCopyDecision> decisions);

// All groups of a decision use the blocks of the first one (known bug 42). Requires: the copies of
// one decision are adjacent.
void use_blocks_of_first_group(std::span<StateCopyTrace> copies);

}  // namespace hybridscope
