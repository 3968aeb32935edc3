// Mode align, after acceptance: the state at the last block boundary that the accepted tokens
// reached is saved to that boundary's column (vLLM postprocess_mamba_fused_kernel, both forms).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/state/copy_decision.h"

namespace hybridscope {

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

}  // namespace hybridscope
