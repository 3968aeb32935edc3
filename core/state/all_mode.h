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
#include "core/state/safe_copy_decision.h"

namespace hybridscope {

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

// preprocess_mamba_all_specdec (semantics: preprocess-mamba-all-specdec): cleanup, then the buffer
// that goes to the device: [max_num_reqs] entry of each row's request, -1 without one and behind
// the rows. Error: more requests than max_num_reqs.
struct PreprocessMambaAllInputs {
  std::int32_t max_num_reqs = 0;
  GoneRequests gone{};
  std::span<const RequestId> req_ids;  // [num_reqs] batch order
};
Result<std::vector<std::int32_t>> preprocess_mamba_all_specdec(
    const PreprocessMambaAllInputs& inputs, MambaStateIdx& mamba_state_idx);

// The decisions of decide_all_mode_boundary_copy for all boundaries, ascending; execute in order.
std::vector<StateCopyDecision> decide_all_mode_boundary_copies(const AllModeBoundaryTerms& terms);

}  // namespace hybridscope
