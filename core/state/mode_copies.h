// Which states a step moves between columns of a block table: in mode align before and after the
// forward pass, in mode all with speculative tokens after acceptance.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/state/copy_decision.h"
#include "core/state/mamba_state_idx.h"

namespace hybridscope {

// Mode align: where each request's running state moves before the forward pass (V1's preprocess,
// V2's precopy), and what the accepted tokens leave at block boundaries after it (postprocess).

// V1, mode align, before the forward pass: each request's running state moves to the column that
// this step writes.

struct PreprocessMambaInputs {
  bool enable_prefix_caching = true;
  std::int32_t block_size = 0;
  std::span<const RequestId> req_ids;                  // [num_reqs] batch order
  std::span<const std::int32_t> num_scheduled_tokens;  // [num_reqs]
  std::span<const std::int32_t> num_computed_tokens;   // [num_reqs] before the step
};

// preprocess_mamba after its cleanup (semantics: preprocess-mamba): writes one decision a request,
// in batch order, and each request's new column. `num_accepted_tokens_cpu`: [max_num_reqs] in batch
// order, 1 afterwards where a copy is made. Errors, which change nothing: prefix caching off,
// block_size < 1, arrays of unequal length.
Status preprocess_mamba(const PreprocessMambaInputs& inputs, MambaStateIdx& mamba_state_idx,
                        std::span<std::int32_t> num_accepted_tokens_cpu,
                        std::vector<StateCopyDecision>& decisions);

// V2, mode align, before the forward pass: the slots' columns advance, then each request's state
// moves to the column that this step writes.

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

// Mode align, after acceptance: the state at the last block boundary that the accepted tokens
// reached is saved to that boundary's column (vLLM postprocess_mamba_fused_kernel, both forms).

struct PostprocessV1Inputs {
  std::int32_t num_reqs = 0;
  std::int32_t block_size = 0;
  std::span<const std::int32_t> num_accepted_tokens;   // [max_num_reqs]
  std::span<const std::int32_t> mamba_state_idx;       // [max_num_reqs] running column
  std::span<const std::int32_t> num_scheduled_tokens;  // [max_num_reqs]
  std::span<const std::int32_t> num_computed_tokens;   // [max_num_reqs]
  std::span<const std::int32_t> num_draft_tokens;      // [max_num_reqs]
};

// run_fused_postprocess (semantics: postprocess-mamba): writes one decision a row.
// `num_accepted_tokens_out`: [max_num_reqs] the context's output buffer, initially zeros; entries
// below num_reqs become the count, or 1 where the boundary lies in the running column; later ones
// stay. Errors, which change nothing: block_size < 1, an array shorter than num_reqs.
Status run_fused_postprocess(const PostprocessV1Inputs& inputs,
                             std::span<std::int32_t> num_accepted_tokens_out,
                             std::vector<StateCopyDecision>& decisions);

struct PostprocessV2Inputs {
  std::int32_t num_reqs = 0;
  std::int32_t block_size = 0;
  std::span<const std::int32_t> idx_mapping;              // [num_reqs] row -> slot, -1: skip
  std::span<const std::int32_t> state_idx;                // [slots] running column
  std::span<const std::int32_t> new_num_computed_tokens;  // [slots] after acceptance
};

// run_fused_postprocess_align (semantics: postprocess-mamba-v2): writes one decision a row.
// `num_accepted_tokens`: [slots] written in place; every (row, state) program decides with the
// count from before the launch (known bug 3). Errors as above, and a slot outside the arrays.
Status run_fused_postprocess_align(const PostprocessV2Inputs& inputs,
                                   std::span<std::int32_t> num_accepted_tokens,
                                   std::vector<StateCopyDecision>& decisions);

// Mode all with speculative tokens: the column of the last scheduled token is remembered from one
// step to the next, and (safe profile) boundary states are stored after acceptance.

// Column of the last token that a step scheduled, 0 without one; query token t of a decode row
// wrote its state t columns further. `block_size` > 0, tokens.
constexpr std::int32_t last_scheduled_column(std::int32_t num_computed_tokens,
                                             std::int32_t num_scheduled_tokens,
                                             std::int32_t block_size) {
  const std::int32_t last = num_computed_tokens + num_scheduled_tokens - 1;
  return last < 0 ? 0 : last / block_size;
}

struct PostprocessMambaAllInputs {
  std::int32_t num_spec_tokens = 0;
  std::int32_t block_size = 0;
  std::span<const RequestId> req_ids;                  // [num_reqs] batch order
  std::span<const std::int32_t> num_scheduled_tokens;  // [num_reqs] 0: not scheduled
  std::span<const std::int32_t> num_computed_tokens;   // [num_reqs] before the step
};

// postprocess_mamba_all (semantics: postprocess-mamba-all): after a step of exactly 1 +
// num_spec_tokens tokens the entry is the column of the last scheduled token, after any other it is
// removed; requests outside req_ids are untouched; nothing happens without speculative tokens.
// Errors: arrays of unequal length, block_size < 1.
Status postprocess_mamba_all(const PostprocessMambaAllInputs& inputs,
                             MambaStateIdx& mamba_state_idx);

// Profile `safe` (semantics: mode-all-with-drafts): the same, but the column is remembered after a
// step of any length.
Status remember_last_scheduled_columns(const PostprocessMambaAllInputs& inputs,
                                       MambaStateIdx& mamba_state_idx);

// preprocess_mamba_all_specdec after its cleanup (semantics: preprocess-mamba-all-specdec): fills
// the buffer that goes to the device, [max_num_reqs]: the entry of each row's request, -1 without
// one and past the rows. `req_ids`: [num_reqs] batch order. Error: more requests than the buffer
// has room for.
Status preprocess_mamba_all_specdec(std::span<const RequestId> req_ids,
                                    const MambaStateIdx& mamba_state_idx,
                                    std::span<std::int32_t> prev_last_scheduled_idx);

// Appends the decisions of decide_all_mode_boundary_copy for all boundaries, ascending; they have
// to be executed in this order. Returns the accepted count for the next step.
std::int32_t decide_all_mode_boundary_copies(const AllModeBoundaryTerms& terms,
                                             std::vector<StateCopyDecision>& decisions);

}  // namespace hybridscope
