#include "core/state/all_mode.h"

#include <algorithm>
#include <string>

namespace hybridscope {
namespace {

Status check_postprocess_all(const PostprocessMambaAllInputs& inputs) {
  if (inputs.block_size < 1)
    return invalid_input("block_size " + std::to_string(inputs.block_size) + ", expected >= 1");
  const std::size_t num_reqs = inputs.req_ids.size();
  if (inputs.num_scheduled_tokens.size() != num_reqs ||
      inputs.num_computed_tokens.size() != num_reqs)
    return invalid_input(std::to_string(num_reqs) + " requests, but " +
                         std::to_string(inputs.num_scheduled_tokens.size()) +
                         " scheduled counts and " +
                         std::to_string(inputs.num_computed_tokens.size()) + " computed counts");
  return Ok{};
}

void remember_column(const PostprocessMambaAllInputs& inputs, std::size_t row,
                     MambaStateIdx& mamba_state_idx) {
  mamba_state_idx.set(inputs.req_ids[row],
                      last_scheduled_column(inputs.num_computed_tokens[row],
                                            inputs.num_scheduled_tokens[row], inputs.block_size));
}

}  // namespace

Status postprocess_mamba_all(const PostprocessMambaAllInputs& inputs,
                             MambaStateIdx& mamba_state_idx) {
  if (inputs.num_spec_tokens <= 0) return Ok{};
  if (Status status = check_postprocess_all(inputs); !status) return status;
  for (std::size_t row = 0; row < inputs.req_ids.size(); ++row) {
    if (inputs.num_scheduled_tokens[row] == 1 + inputs.num_spec_tokens)
      remember_column(inputs, row, mamba_state_idx);
    else
      mamba_state_idx.erase(inputs.req_ids[row]);
  }
  return Ok{};
}

Status remember_last_scheduled_columns(const PostprocessMambaAllInputs& inputs,
                                       MambaStateIdx& mamba_state_idx) {
  if (inputs.num_spec_tokens <= 0) return Ok{};
  if (Status status = check_postprocess_all(inputs); !status) return status;
  for (std::size_t row = 0; row < inputs.req_ids.size(); ++row)
    remember_column(inputs, row, mamba_state_idx);
  return Ok{};
}

Status preprocess_mamba_all_specdec(std::span<const RequestId> req_ids,
                                    const MambaStateIdx& mamba_state_idx,
                                    std::span<std::int32_t> prev_last_scheduled_idx) {
  if (req_ids.size() > prev_last_scheduled_idx.size())
    return invalid_input(std::to_string(req_ids.size()) + " requests for a buffer of " +
                         std::to_string(prev_last_scheduled_idx.size()));
  std::ranges::fill(prev_last_scheduled_idx, -1);
  for (std::size_t row = 0; row < req_ids.size(); ++row)
    prev_last_scheduled_idx[row] = mamba_state_idx.find(req_ids[row]).value_or(-1);
  return Ok{};
}

std::int32_t decide_all_mode_boundary_copies(const AllModeBoundaryTerms& terms,
                                             std::vector<StateCopyDecision>& decisions) {
  const AllModeBoundaries boundaries = all_mode_boundaries(terms);
  std::int32_t num_accepted_tokens = terms.num_accepted_tokens;
  for (std::int32_t i = 0; i < boundaries.count; ++i) {
    decisions.push_back(decide_all_mode_boundary_copy(terms, boundaries.first + i));
    if (decisions.back().resets_accepted_count) num_accepted_tokens = 1;
  }
  return num_accepted_tokens;
}

}  // namespace hybridscope
