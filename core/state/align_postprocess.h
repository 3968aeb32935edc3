// Mode align, after acceptance: the state at the last block boundary that the accepted tokens
// reached is saved to that boundary's column (vLLM postprocess_mamba_fused_kernel, both forms).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/state/copy_decision.h"
#include "core/state/fused_state_copy.h"
#include "core/state/state_layout.h"

namespace hybridscope {

struct PostprocessAlignResult {
  std::vector<StateCopyDecision> decisions;  // [num_reqs]
  std::vector<RowStateCopy> copies;          // by row, then state
  std::vector<std::int32_t> num_accepted_tokens;
};

struct PostprocessV1Inputs {
  std::int32_t num_reqs = 0;
  std::span<const std::int32_t> num_accepted_tokens;   // [max_num_reqs]
  std::span<const std::int32_t> mamba_state_idx;       // [max_num_reqs] running column
  std::span<const std::int32_t> num_scheduled_tokens;  // [max_num_reqs]
  std::span<const std::int32_t> num_computed_tokens;   // [max_num_reqs]
  std::span<const std::int32_t> num_draft_tokens;      // [max_num_reqs]
  BlockTables block_tables;                            // rows by request
};

// run_fused_postprocess (semantics: postprocess-mamba). `num_accepted_tokens_out` is the context's
// output buffer as the previous call left it (initially zeros); the result holds it after this
// call: entries below num_reqs are the count, or 1 where the boundary lies in the running column;
// later ones are old. Errors: an array shorter than num_reqs, a column outside the table, a block
// outside the state.
Result<PostprocessAlignResult> run_fused_postprocess(
    const StateLayout& layout, const PostprocessV1Inputs& inputs,
    std::vector<std::int32_t> num_accepted_tokens_out);

struct PostprocessV2Inputs {
  std::int32_t num_reqs = 0;
  std::span<const std::int32_t> idx_mapping;              // [num_reqs] row -> slot, -1: skip
  std::span<const std::int32_t> num_accepted_tokens;      // [slots]
  std::span<const std::int32_t> state_idx;                // [slots] running column
  std::span<const std::int32_t> new_num_computed_tokens;  // [slots] after acceptance
  BlockTables block_tables;                               // rows in batch order
};

// run_fused_postprocess_align (semantics: postprocess-mamba-v2). The result's num_accepted_tokens
// is the array after the launch; every (row, state) program decided with the count from before it
// (known bug 3). Errors as above, and a slot outside the arrays.
Result<PostprocessAlignResult> run_fused_postprocess_align(const StateLayout& layout,
                                                           const PostprocessV2Inputs& inputs);

}  // namespace hybridscope
