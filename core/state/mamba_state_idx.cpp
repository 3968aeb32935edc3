#include "core/state/mamba_state_idx.h"

#include <algorithm>
#include <string>

namespace hybridscope {

std::vector<std::pair<RequestId, std::int32_t>> MambaStateIdx::entries() const {
  std::vector<std::pair<RequestId, std::int32_t>> entries;
  for (std::size_t i = 0; i < columns_.size(); ++i)
    if (columns_[i] != kNone)
      entries.emplace_back(RequestId{static_cast<std::int32_t>(i)}, columns_[i]);
  return entries;
}

void cleanup_mamba_state_idx(const GoneRequests& gone, MambaStateIdx& mamba_state_idx) {
  for (const auto& ids : {gone.finished_req_ids, gone.preempted_req_ids, gone.resumed_req_ids})
    for (const RequestId id : ids) mamba_state_idx.erase(id);
}

namespace {

Status check_sizes(const StagePostprocessInputs& inputs, const PostprocessInputBuffers& buffers) {
  const std::size_t num_reqs = inputs.req_ids.size();
  if (inputs.num_scheduled_tokens.size() != num_reqs ||
      inputs.num_computed_tokens.size() != num_reqs || inputs.num_draft_tokens.size() != num_reqs)
    return invalid_input(std::to_string(num_reqs) + " requests, but " +
                         std::to_string(inputs.num_scheduled_tokens.size()) +
                         " scheduled counts, " + std::to_string(inputs.num_computed_tokens.size()) +
                         " computed counts and " + std::to_string(inputs.num_draft_tokens.size()) +
                         " draft counts");
  const std::size_t room =
      std::min({buffers.mamba_state_idx.size(), buffers.num_scheduled_tokens.size(),
                buffers.num_computed_tokens.size(), buffers.num_draft_tokens.size()});
  if (num_reqs > room)
    return invalid_input(std::to_string(num_reqs) + " requests for buffers of " +
                         std::to_string(room));
  return Ok{};
}

}  // namespace

PostprocessInputBuffers make_postprocess_input_buffers(std::int32_t max_num_reqs) {
  const std::vector<std::int32_t> zeros(static_cast<std::size_t>(max_num_reqs), 0);
  return {zeros, zeros, zeros, zeros};
}

Status stage_postprocess_inputs(const StagePostprocessInputs& inputs,
                                const MambaStateIdx& mamba_state_idx,
                                PostprocessInputBuffers& buffers) {
  if (Status status = check_sizes(inputs, buffers); !status) return status;
  for (const RequestId id : inputs.req_ids)
    if (!mamba_state_idx.find(id))
      return invalid_input("request " + std::to_string(id.value) +
                           " has no running column; preprocess_mamba has to run for it first");
  for (std::size_t row = 0; row < inputs.req_ids.size(); ++row)
    buffers.mamba_state_idx[row] = *mamba_state_idx.find(inputs.req_ids[row]);
  std::ranges::copy(inputs.num_scheduled_tokens, buffers.num_scheduled_tokens.begin());
  std::ranges::copy(inputs.num_computed_tokens, buffers.num_computed_tokens.begin());
  std::ranges::copy(inputs.num_draft_tokens, buffers.num_draft_tokens.begin());
  return Ok{};
}

}  // namespace hybridscope
