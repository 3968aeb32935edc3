#include "core/state/align_preprocess.h"

#include <string>

namespace hybridscope {
namespace {

Status check_preprocess(const PreprocessMambaInputs& inputs, std::size_t num_counts) {
  if (!inputs.enable_prefix_caching)
    return invalid_input("mode align needs prefix caching, which is off");
  if (inputs.block_size < 1)
    return invalid_input("block_size " + std::to_string(inputs.block_size) + ", expected >= 1");
  const std::size_t num_reqs = inputs.req_ids.size();
  if (inputs.num_scheduled_tokens.size() != num_reqs ||
      inputs.num_computed_tokens.size() != num_reqs || num_counts < num_reqs)
    return invalid_input(std::to_string(num_reqs) + " requests, but " +
                         std::to_string(inputs.num_scheduled_tokens.size()) +
                         " scheduled counts, " + std::to_string(inputs.num_computed_tokens.size()) +
                         " computed counts and " + std::to_string(num_counts) + " accepted counts");
  return Ok{};
}

}  // namespace

Status preprocess_mamba(const PreprocessMambaInputs& inputs, MambaStateIdx& mamba_state_idx,
                        std::span<std::int32_t> num_accepted_tokens_cpu,
                        std::vector<StateCopyDecision>& decisions) {
  if (Status status = check_preprocess(inputs, num_accepted_tokens_cpu.size()); !status)
    return status;
  decisions.clear();
  for (std::size_t row = 0; row < inputs.req_ids.size(); ++row) {
    const auto column = mamba_state_idx.find(inputs.req_ids[row]);
    const StateCopyDecision& decision = decisions.emplace_back(
        decide_preprocess_v1({.has_mamba_state_idx = column.has_value(),
                              .mamba_state_idx = column.value_or(-1),
                              .num_computed_tokens = inputs.num_computed_tokens[row],
                              .num_scheduled_tokens = inputs.num_scheduled_tokens[row],
                              .num_accepted_tokens = num_accepted_tokens_cpu[row],
                              .block_size = inputs.block_size}));
    mamba_state_idx.set(inputs.req_ids[row], decision.dst_col);
    num_accepted_tokens_cpu[row] = decision.num_accepted_tokens_after();
  }
  return Ok{};
}

}  // namespace hybridscope
