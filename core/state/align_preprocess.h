// V1, mode align, before the forward pass: each request's running state moves to the column that
// this step writes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/state/copy_decision.h"
#include "core/state/mamba_state_idx.h"

namespace hybridscope {

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

}  // namespace hybridscope
