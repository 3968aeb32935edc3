// V2, mode align, before the forward pass: the slots' columns advance, then each request's state
// moves to the column that this step writes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/state/copy_decision.h"
#include "core/state/fused_state_copy.h"
#include "core/state/state_layout.h"

namespace hybridscope {

// Per-slot arrays of the V2 runner; nothing moves between slots.
struct AlignSlots {
  std::vector<std::int32_t> state_idx;            // [slots] running column, initially 0
  std::vector<std::int32_t> src_col;              // [slots] initially -1
  std::vector<std::int32_t> src_off;              // [slots] initially 0
  std::vector<std::int32_t> num_accepted_tokens;  // [slots] initially 1
  friend bool operator==(const AlignSlots&, const AlignSlots&) = default;
};
AlignSlots make_align_slots(std::int32_t max_num_reqs);

// add_request (semantics: add-request): state_idx = column of the last computed token, -1 for none;
// count 1. Errors: slot outside the arrays, block_size < 1.
struct AddedSlot {
  std::int32_t slot = 0;
  std::int32_t num_computed_tokens = 0;
  std::int32_t block_size = 0;
};
Status add_align_slot(AlignSlots& slots, const AddedSlot& added);

struct AlignAdvanceInputs {
  std::int32_t num_reqs = 0;
  std::int32_t block_size = 0;
  std::span<const std::int32_t> idx_mapping;          // [num_reqs] row -> slot, none below 0
  std::span<const std::int32_t> num_computed_tokens;  // [slots]
  std::span<const std::int32_t> query_start_loc;      // [num_reqs + 1]
};
struct AlignAdvanceResult {
  std::vector<StateCopyDecision> decisions;  // [num_reqs]
  AlignSlots slots;
};

// preprocess_mamba_align_fused_kernel (semantics: preprocess-mamba-align). Slots outside the batch
// keep everything. Errors: an array too short, a slot outside the arrays (also -1: the kernel has
// no guard there).
Result<AlignAdvanceResult> preprocess_mamba_align(const AlignAdvanceInputs& inputs,
                                                  AlignSlots slots);

struct PrecopyInputs {
  std::int32_t num_reqs = 0;
  std::span<const std::int32_t> idx_mapping;  // [num_reqs] row -> slot, -1: skip
  std::span<const std::int32_t> state_idx;    // [slots] after the advance
  std::span<const std::int32_t> src_col;      // [slots]
  std::span<const std::int32_t> src_off;      // [slots]
  BlockTables block_tables;                   // rows in batch order
};
struct PrecopyResult {
  std::vector<StateCopyDecision> decisions;  // [num_reqs]
  std::vector<RowStateCopy> copies;          // by row, then state
};

// run_fused_precopy (semantics: precopy-mamba-align). Errors: an array too short, a slot outside
// the arrays, a column outside the table, a block outside the state.
Result<PrecopyResult> run_fused_precopy(const StateLayout& layout, const PrecopyInputs& inputs);

}  // namespace hybridscope
