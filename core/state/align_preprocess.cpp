#include "core/state/align_preprocess.h"

#include <string>

#include "core/state/copy_spec.h"

namespace hybridscope {
namespace {

struct RequestCopy {
  const StateTensor& state;
  StateKind kind;
  ConvStateLayout layout;
  std::span<const std::int32_t> block_ids;
  StateCopyColumns columns;
};

Result<StateCopy> copy_one_state(const RequestCopy& request) {
  const Result<CopySpec> source =
      get_copy_spec(request.state,
                    {.block_ids = request.block_ids,
                     .cur_block_idx = request.columns.src_col,
                     .num_accepted_tokens = request.columns.accept_token_bias + 1},
                    request.kind, request.layout);
  if (!source) return source.error();
  const Result<std::int32_t> block = block_at(request.block_ids, request.columns.dst_col);
  if (!block) return block.error();
  const Result<std::int64_t> destination = block_byte_offset(request.state, block.value());
  if (!destination) return destination.error();
  StateCopy copy;
  copy.src_byte_offset = source.value().start_byte_offset.value_or(0);
  copy.dst_byte_offset = destination.value();
  copy.row_bytes = source.value().copy_bytes;
  return copy;
}

Status check_inputs(const MambaStateTensors& tensors, const PreprocessMambaInputs& inputs) {
  if (!inputs.enable_prefix_caching)
    return invalid_input("mode align needs prefix caching, which is off");
  if (tensors.block_size < 1)
    return invalid_input("block_size " + std::to_string(tensors.block_size) + ", expected >= 1");
  const std::size_t num_reqs = inputs.req_ids.size();
  if (inputs.num_scheduled_tokens.size() != num_reqs ||
      inputs.num_computed_tokens.size() != num_reqs || inputs.block_ids.size() != num_reqs ||
      inputs.num_accepted_tokens_cpu.size() < num_reqs)
    return invalid_input(
        std::to_string(num_reqs) + " requests, but " +
        std::to_string(inputs.num_scheduled_tokens.size()) + " scheduled counts, " +
        std::to_string(inputs.num_computed_tokens.size()) + " computed counts, " +
        std::to_string(inputs.block_ids.size()) + " block lists and " +
        std::to_string(inputs.num_accepted_tokens_cpu.size()) + " accepted counts");
  return Ok{};
}

StateCopyDecision decide_row(const PreprocessMambaInputs& inputs, std::size_t row,
                             std::int32_t block_size, const MambaStateIdx& mamba_state_idx) {
  const auto entry = mamba_state_idx.find(inputs.req_ids[row]);
  const bool known = entry != mamba_state_idx.end();
  return decide_preprocess_v1({.has_mamba_state_idx = known,
                               .mamba_state_idx = known ? entry->second : -1,
                               .num_computed_tokens = inputs.num_computed_tokens[row],
                               .num_scheduled_tokens = inputs.num_scheduled_tokens[row],
                               .num_accepted_tokens = inputs.num_accepted_tokens_cpu[row],
                               .block_size = block_size});
}

}  // namespace

Result<std::vector<StateCopy>> collect_mamba_copy_meta(const MambaStateTensors& tensors,
                                                       const StateCopyColumns& columns,
                                                       const RequestBlockIds& block_ids) {
  std::vector<StateCopy> copies;
  if (columns.src_col == columns.dst_col && columns.accept_token_bias == 0) return copies;
  std::int32_t state_index = 0;
  for (const MambaLayerStates& layer : tensors.layers) {
    const std::int32_t group =
        tensors.mamba_group_ids.at(static_cast<std::size_t>(layer.group_index));
    if (group < 0 || static_cast<std::size_t>(group) >= block_ids.size())
      return invalid_input("a request has block ids of " + std::to_string(block_ids.size()) +
                           " KV cache groups, group " + std::to_string(group) + " is needed");
    HS_EXPECT(layer.states.size() == tensors.state_kinds.size());
    for (std::size_t i = 0; i < layer.states.size(); ++i) {
      if (!tensors.state_kinds[i])
        return invalid_input("the copy function of state " + std::to_string(i) +
                             " is none of the known ones");
      Result<StateCopy> copy =
          copy_one_state({.state = layer.states[i],
                          .kind = *tensors.state_kinds[i],
                          .layout = tensors.conv_state_layout,
                          .block_ids = block_ids[static_cast<std::size_t>(group)],
                          .columns = columns});
      if (!copy) return copy.error();
      copy.value().state_index = state_index++;
      copies.push_back(copy.value());
    }
  }
  return copies;
}

Result<PreprocessMambaResult> preprocess_mamba(const MambaStateTensors& tensors,
                                               const PreprocessMambaInputs& inputs,
                                               MambaStateIdx mamba_state_idx) {
  if (Status status = check_inputs(tensors, inputs); !status) return status.error();
  PreprocessMambaResult result;
  result.num_accepted_tokens_cpu.assign(inputs.num_accepted_tokens_cpu.begin(),
                                        inputs.num_accepted_tokens_cpu.end());
  cleanup_mamba_state_idx(inputs.gone, mamba_state_idx);
  for (std::size_t row = 0; row < inputs.req_ids.size(); ++row) {
    const StateCopyDecision decision = decide_row(inputs, row, tensors.block_size, mamba_state_idx);
    result.decisions.push_back(decision);
    mamba_state_idx[inputs.req_ids[row]] = decision.dst_col;
    if (!decision.copies()) continue;
    Result<std::vector<StateCopy>> copies =
        collect_mamba_copy_meta(tensors,
                                {.src_col = decision.src_col,
                                 .dst_col = decision.dst_col,
                                 .accept_token_bias = decision.accept_token_bias},
                                inputs.block_ids[row]);
    if (!copies) return copies.error();
    result.copies.insert(result.copies.end(), copies.value().begin(), copies.value().end());
    result.num_accepted_tokens_cpu[row] = decision.num_accepted_tokens_after();
  }
  result.mamba_state_idx = std::move(mamba_state_idx);
  return result;
}

}  // namespace hybridscope
