// V2, mode align, before the forward pass: the slots' columns advance, then each request's state
// moves to the column that this step writes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/state/copy_decision.h"

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
  std::span<const std::int32_t> idx_mapping;          // [num_reqs] row -> slot, never negative
  std::span<const std::int32_t> num_computed_tokens;  // [slots]
  std::span<const std::int32_t> query_start_loc;      // [num_reqs + 1]
};

// preprocess_mamba_align_fused_kernel (semantics: preprocess-mamba-align): writes one decision per
// row and advances the slots; slots outside the batch keep everything. Errors, which change
// nothing: block_size < 1, an array too short, a slot outside the arrays (also -1: the kernel has
// no guard there).
Status preprocess_mamba_align(const AlignAdvanceInputs& inputs, AlignSlots& slots,
                              std::vector<StateCopyDecision>& decisions);

// run_fused_precopy (semantics: precopy-mamba-align): the pre-copy kernel's decision for each row,
// from the columns that the advance left in the slots. `idx_mapping`: [num_reqs] row -> slot, -1:
// skip. Error: a slot outside the arrays.
Status run_fused_precopy(std::span<const std::int32_t> idx_mapping, const AlignSlots& slots,
                         std::vector<StateCopyDecision>& decisions);

}  // namespace hybridscope
