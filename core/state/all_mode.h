// Mode all with speculative tokens: the column of the last scheduled token is remembered from one
// step to the next, and (safe profile) boundary states are stored after acceptance.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/state/copy_decision.h"
#include "core/state/mamba_state_idx.h"

namespace hybridscope {

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
