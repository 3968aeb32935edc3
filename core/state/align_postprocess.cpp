#include "core/state/align_postprocess.h"

#include <algorithm>
#include <initializer_list>
#include <string>

namespace hybridscope {
namespace {

Status check_sizes(const StateLayout& layout, std::int32_t num_reqs,
                   std::initializer_list<std::size_t> sizes) {
  if (layout.block_size < 1)
    return invalid_input("block_size " + std::to_string(layout.block_size) + ", expected >= 1");
  const std::size_t shortest = std::min(sizes);
  if (num_reqs < 0 || shortest < static_cast<std::size_t>(num_reqs))
    return invalid_input("num_reqs " + std::to_string(num_reqs) +
                         " does not fit arrays of which the shortest has " +
                         std::to_string(shortest) + " entries");
  return Ok{};
}

Status append_decided_copies(const StateLayout& layout, BlockTables block_tables,
                             PostprocessAlignResult& result) {
  for (std::size_t row = 0; row < result.decisions.size(); ++row) {
    const StateCopyDecision& decision = result.decisions[row];
    if (!decision.copies()) continue;
    const FusedCopyRow copy_row{.row = static_cast<std::int32_t>(row),
                                .columns = {.src_col = decision.src_col,
                                            .dst_col = decision.dst_col,
                                            .accept_token_bias = decision.accept_token_bias}};
    if (Status status = append_row_copies(layout, block_tables, copy_row, result.copies); !status)
      return status;
  }
  return Ok{};
}

}  // namespace

Result<PostprocessAlignResult> run_fused_postprocess(
    const StateLayout& layout, const PostprocessV1Inputs& inputs,
    std::vector<std::int32_t> num_accepted_tokens_out) {
  if (Status status =
          check_sizes(layout, inputs.num_reqs,
                      {inputs.num_accepted_tokens.size(), inputs.mamba_state_idx.size(),
                       inputs.num_scheduled_tokens.size(), inputs.num_computed_tokens.size(),
                       inputs.num_draft_tokens.size(), num_accepted_tokens_out.size()});
      !status)
    return status.error();
  PostprocessAlignResult result;
  result.num_accepted_tokens = std::move(num_accepted_tokens_out);
  for (std::size_t row = 0; row < static_cast<std::size_t>(inputs.num_reqs); ++row) {
    const StateCopyDecision decision =
        decide_postprocess_v1({.num_accepted_tokens = inputs.num_accepted_tokens[row],
                               .mamba_state_idx = inputs.mamba_state_idx[row],
                               .num_scheduled_tokens = inputs.num_scheduled_tokens[row],
                               .num_computed_tokens = inputs.num_computed_tokens[row],
                               .num_draft_tokens = inputs.num_draft_tokens[row],
                               .block_size = layout.block_size});
    result.decisions.push_back(decision);
    result.num_accepted_tokens[row] = decision.num_accepted_tokens_after();
  }
  if (Status status = append_decided_copies(layout, inputs.block_tables, result); !status)
    return status.error();
  return result;
}

Result<PostprocessAlignResult> run_fused_postprocess_align(const StateLayout& layout,
                                                           const PostprocessV2Inputs& inputs) {
  if (Status status = check_sizes(layout, inputs.num_reqs, {inputs.idx_mapping.size()}); !status)
    return status.error();
  const std::size_t num_slots =
      std::min({inputs.num_accepted_tokens.size(), inputs.state_idx.size(),
                inputs.new_num_computed_tokens.size()});
  PostprocessAlignResult result;
  result.num_accepted_tokens.assign(inputs.num_accepted_tokens.begin(),
                                    inputs.num_accepted_tokens.end());
  for (std::size_t row = 0; row < static_cast<std::size_t>(inputs.num_reqs); ++row) {
    if (inputs.idx_mapping[row] < 0) {
      result.decisions.push_back(decide_padded_row(StateCopyRule::postprocess_mamba_v2));
      continue;
    }
    const auto slot = static_cast<std::size_t>(inputs.idx_mapping[row]);
    if (slot >= num_slots)
      return invalid_input("row " + std::to_string(row) + " is mapped to slot " +
                           std::to_string(slot) + " of " + std::to_string(num_slots));
    const StateCopyDecision decision =
        decide_postprocess_v2({.num_accepted_tokens = inputs.num_accepted_tokens[slot],
                               .state_idx = inputs.state_idx[slot],
                               .new_num_computed_tokens = inputs.new_num_computed_tokens[slot],
                               .block_size = layout.block_size});
    result.decisions.push_back(decision);
    if (decision.resets_accepted_count) result.num_accepted_tokens[slot] = 1;
  }
  if (Status status = append_decided_copies(layout, inputs.block_tables, result); !status)
    return status.error();
  return result;
}

}  // namespace hybridscope
