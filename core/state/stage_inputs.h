// The per-request arrays that the fused V1 postprocess reads, staged in batch order while the
// step is prepared.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/state/mamba_state_idx.h"

namespace hybridscope {

// Persistent buffers, [max_num_reqs] each, initially zero.
struct PostprocessInputBuffers {
  std::vector<std::int32_t> mamba_state_idx;
  std::vector<std::int32_t> num_scheduled_tokens;
  std::vector<std::int32_t> num_computed_tokens;
  std::vector<std::int32_t> num_draft_tokens;
  friend bool operator==(const PostprocessInputBuffers&, const PostprocessInputBuffers&) = default;
};
PostprocessInputBuffers make_postprocess_input_buffers(std::int32_t max_num_reqs);

struct StagePostprocessInputs {
  std::span<const RequestId> req_ids;                  // [num_reqs] batch order
  std::span<const std::int32_t> num_scheduled_tokens;  // [num_reqs]
  std::span<const std::int32_t> num_computed_tokens;   // [num_reqs] before the step
  std::span<const std::int32_t> num_draft_tokens;      // [num_reqs] 0: no drafts
};

// stage_postprocess_inputs_to_gpu: rows [0, num_reqs) are written, later ones keep older values.
// Errors: a request without an entry (the align preprocess must have run for this batch), arrays of
// unequal length, more requests than the buffers hold; `buffers` is then unchanged.
Status stage_postprocess_inputs(const StagePostprocessInputs& inputs,
                                const MambaStateIdx& mamba_state_idx,
                                PostprocessInputBuffers& buffers);

}  // namespace hybridscope
