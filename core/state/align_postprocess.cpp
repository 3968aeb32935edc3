#include "core/state/align_postprocess.h"

#include <algorithm>
#include <initializer_list>
#include <string>

namespace hybridscope {
namespace {

Status check_postprocess(std::int32_t block_size, std::int32_t num_reqs,
                         std::initializer_list<std::size_t> sizes) {
  if (block_size < 1)
    return invalid_input("block_size " + std::to_string(block_size) + ", expected >= 1");
  const std::size_t shortest = std::min(sizes);
  if (num_reqs < 0 || shortest < static_cast<std::size_t>(num_reqs))
    return invalid_input("num_reqs " + std::to_string(num_reqs) +
                         " exceeds the shortest array, which has " + std::to_string(shortest) +
                         " entries");
  return Ok{};
}

}  // namespace

Status run_fused_postprocess(const PostprocessV1Inputs& inputs,
                             std::span<std::int32_t> num_accepted_tokens_out,
                             std::vector<StateCopyDecision>& decisions) {
  if (Status status =
          check_postprocess(inputs.block_size, inputs.num_reqs,
                            {inputs.num_accepted_tokens.size(), inputs.mamba_state_idx.size(),
                             inputs.num_scheduled_tokens.size(), inputs.num_computed_tokens.size(),
                             inputs.num_draft_tokens.size(), num_accepted_tokens_out.size()});
      !status)
    return status;
  decisions.clear();
  for (std::size_t row = 0; row < static_cast<std::size_t>(inputs.num_reqs); ++row) {
    const StateCopyDecision& decision = decisions.emplace_back(
        decide_postprocess_v1({.num_accepted_tokens = inputs.num_accepted_tokens[row],
                               .mamba_state_idx = inputs.mamba_state_idx[row],
                               .num_scheduled_tokens = inputs.num_scheduled_tokens[row],
                               .num_computed_tokens = inputs.num_computed_tokens[row],
                               .num_draft_tokens = inputs.num_draft_tokens[row],
                               .block_size = inputs.block_size}));
    num_accepted_tokens_out[row] = decision.num_accepted_tokens_after();
  }
  return Ok{};
}

Status run_fused_postprocess_align(const PostprocessV2Inputs& inputs,
                                   std::span<std::int32_t> num_accepted_tokens,
                                   std::vector<StateCopyDecision>& decisions) {
  if (Status status =
          check_postprocess(inputs.block_size, inputs.num_reqs, {inputs.idx_mapping.size()});
      !status)
    return status;
  const std::size_t num_slots = std::min(
      {num_accepted_tokens.size(), inputs.state_idx.size(), inputs.new_num_computed_tokens.size()});
  const auto rows = inputs.idx_mapping.first(static_cast<std::size_t>(inputs.num_reqs));
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (rows[row] >= 0 && static_cast<std::size_t>(rows[row]) >= num_slots)
      return invalid_input("row " + std::to_string(row) + " is mapped to slot " +
                           std::to_string(rows[row]) + " of " + std::to_string(num_slots));
  decisions.clear();
  for (const std::int32_t mapped : rows) {
    if (mapped < 0) {
      decisions.push_back(decide_padded_row(StateCopyRule::postprocess_mamba_v2));
      continue;
    }
    const auto slot = static_cast<std::size_t>(mapped);
    const StateCopyDecision& decision = decisions.emplace_back(
        decide_postprocess_v2({.num_accepted_tokens = num_accepted_tokens[slot],
                               .state_idx = inputs.state_idx[slot],
                               .new_num_computed_tokens = inputs.new_num_computed_tokens[slot],
                               .block_size = inputs.block_size}));
    num_accepted_tokens[slot] = decision.num_accepted_tokens_after();
  }
  return Ok{};
}

}  // namespace hybridscope
