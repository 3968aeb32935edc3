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
#include "core/state/state_copy.h"
#include "core/state/state_tensor.h"

namespace hybridscope {

// Block ids of one request: [num_kv_cache_groups][columns].
using RequestBlockIds = std::vector<std::vector<std::int32_t>>;

struct PreprocessMambaInputs {
  bool enable_prefix_caching = true;
  GoneRequests gone{};
  std::span<const RequestId> req_ids;                     // [num_reqs] batch order
  std::span<const std::int32_t> num_scheduled_tokens;     // [num_reqs]
  std::span<const std::int32_t> num_computed_tokens;      // [num_reqs] before the step
  std::span<const RequestBlockIds> block_ids;             // [num_reqs]
  std::span<const std::int32_t> num_accepted_tokens_cpu;  // [max_num_reqs] batch order
};

struct PreprocessMambaResult {
  std::vector<StateCopyDecision> decisions;           // [num_reqs]
  std::vector<StateCopy> copies;                      // in the order of the copy buffers
  std::vector<std::int32_t> num_accepted_tokens_cpu;  // [max_num_reqs] 1 where a copy was made
  MambaStateIdx mamba_state_idx;
};

// preprocess_mamba (semantics: preprocess-mamba). Copies are one region each and may run in any
// order. Errors: prefix caching off, arrays of unequal length, a copy that get_copy_spec refuses
// (DS with an accepted count above 1), a column outside the request's block ids.
Result<PreprocessMambaResult> preprocess_mamba(const MambaStateTensors& tensors,
                                               const PreprocessMambaInputs& inputs,
                                               MambaStateIdx mamba_state_idx);

// collect_mamba_copy_meta (semantics: collect-mamba-copy-meta): the copies of one request, all
// groups, layers and states in order; none if src_col == dst_col and the bias is 0. A slice that is
// empty gives a copy of 0 bytes. Errors as above.
Result<std::vector<StateCopy>> collect_mamba_copy_meta(const MambaStateTensors& tensors,
                                                       const StateCopyColumns& columns,
                                                       const RequestBlockIds& block_ids);

}  // namespace hybridscope
