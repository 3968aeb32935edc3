#include "core/state/all_mode.h"

#include <algorithm>
#include <string>

#include "core/base/math.h"

namespace hybridscope {

Status postprocess_mamba_all(const PostprocessMambaAllInputs& inputs,
                             MambaStateIdx& mamba_state_idx) {
  if (inputs.num_spec_tokens <= 0) return Ok{};
  if (inputs.block_size < 1)
    return invalid_input("block_size " + std::to_string(inputs.block_size) + ", expected >= 1");
  const std::size_t num_reqs = inputs.req_ids.size();
  if (inputs.num_scheduled_tokens.size() != num_reqs ||
      inputs.num_computed_tokens.size() != num_reqs)
    return invalid_input(std::to_string(num_reqs) + " requests, but " +
                         std::to_string(inputs.num_scheduled_tokens.size()) +
                         " scheduled counts and " +
                         std::to_string(inputs.num_computed_tokens.size()) + " computed counts");
  for (std::size_t row = 0; row < num_reqs; ++row) {
    const std::int32_t num_query = inputs.num_scheduled_tokens[row];
    if (num_query == 1 + inputs.num_spec_tokens) {
      const std::int32_t seq_len = inputs.num_computed_tokens[row] + num_query;
      mamba_state_idx[inputs.req_ids[row]] = std::max(0, floor_div(seq_len - 1, inputs.block_size));
    } else {
      mamba_state_idx.erase(inputs.req_ids[row]);
    }
  }
  return Ok{};
}

Result<std::vector<std::int32_t>> preprocess_mamba_all_specdec(
    const PreprocessMambaAllInputs& inputs, MambaStateIdx& mamba_state_idx) {
  const auto max_num_reqs = static_cast<std::size_t>(std::max(inputs.max_num_reqs, 0));
  if (inputs.req_ids.size() > max_num_reqs)
    return invalid_input(std::to_string(inputs.req_ids.size()) + " requests for a buffer of " +
                         std::to_string(max_num_reqs));
  cleanup_mamba_state_idx(inputs.gone, mamba_state_idx);
  std::vector<std::int32_t> prev_last_scheduled_idx(max_num_reqs, -1);
  for (std::size_t row = 0; row < inputs.req_ids.size(); ++row)
    if (const auto entry = mamba_state_idx.find(inputs.req_ids[row]);
        entry != mamba_state_idx.end())
      prev_last_scheduled_idx[row] = entry->second;
  return prev_last_scheduled_idx;
}

std::vector<StateCopyDecision> decide_all_mode_boundary_copies(const AllModeBoundaryTerms& terms) {
  const AllModeBoundaries boundaries = all_mode_boundaries(terms);
  std::vector<StateCopyDecision> decisions;
  for (std::int32_t i = 0; i < boundaries.count; ++i)
    decisions.push_back(decide_all_mode_boundary_copy(terms, boundaries.first + i));
  return decisions;
}

}  // namespace hybridscope
