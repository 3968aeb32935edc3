#include <algorithm>
#include <initializer_list>
#include <string>

#include "core/state/mode_copies.h"

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

namespace {

Error outside_slots(std::size_t row, std::int32_t slot, std::size_t num_slots) {
  return invalid_input("row " + std::to_string(row) + " is mapped to slot " + std::to_string(slot) +
                       " of " + std::to_string(num_slots));
}

Error too_short(const char* array, std::size_t size, std::int32_t num_reqs) {
  return invalid_input(std::string(array) + " has " + std::to_string(size) + " entries for " +
                       std::to_string(num_reqs) + " requests");
}

Status check_block_size(std::int32_t block_size) {
  if (block_size < 1)
    return invalid_input("block_size " + std::to_string(block_size) + ", expected >= 1");
  return Ok{};
}

std::size_t num_slots_of(const AlignSlots& slots) {
  return std::min({slots.state_idx.size(), slots.src_col.size(), slots.src_off.size(),
                   slots.num_accepted_tokens.size()});
}

Status check_advance(const AlignAdvanceInputs& inputs, const AlignSlots& slots) {
  if (Status status = check_block_size(inputs.block_size); !status) return status;
  const auto num_reqs = static_cast<std::size_t>(std::max(inputs.num_reqs, 0));
  if (inputs.idx_mapping.size() < num_reqs)
    return too_short("idx_mapping", inputs.idx_mapping.size(), inputs.num_reqs);
  if (inputs.query_start_loc.size() < num_reqs + 1)
    return too_short("query_start_loc", inputs.query_start_loc.size(), inputs.num_reqs);
  const std::size_t num_slots = std::min(num_slots_of(slots), inputs.num_computed_tokens.size());
  for (std::size_t row = 0; row < num_reqs; ++row) {
    const std::int32_t slot = inputs.idx_mapping[row];
    if (slot < 0 || static_cast<std::size_t>(slot) >= num_slots)
      return outside_slots(row, slot, num_slots);
  }
  return Ok{};
}

}  // namespace

AlignSlots make_align_slots(std::int32_t max_num_reqs) {
  const auto count = static_cast<std::size_t>(max_num_reqs);
  return {.state_idx = std::vector<std::int32_t>(count, 0),
          .src_col = std::vector<std::int32_t>(count, -1),
          .src_off = std::vector<std::int32_t>(count, 0),
          .num_accepted_tokens = std::vector<std::int32_t>(count, 1)};
}

Status add_align_slot(AlignSlots& slots, const AddedSlot& added) {
  if (Status status = check_block_size(added.block_size); !status) return status;
  if (added.slot < 0 || static_cast<std::size_t>(added.slot) >= num_slots_of(slots))
    return invalid_input("slot " + std::to_string(added.slot) + " of " +
                         std::to_string(num_slots_of(slots)));
  const auto slot = static_cast<std::size_t>(added.slot);
  slots.state_idx[slot] = floor_div(added.num_computed_tokens - 1, added.block_size);
  slots.num_accepted_tokens[slot] = 1;
  return Ok{};
}

Status preprocess_mamba_align(const AlignAdvanceInputs& inputs, AlignSlots& slots,
                              std::vector<StateCopyDecision>& decisions) {
  if (Status status = check_advance(inputs, slots); !status) return status;
  decisions.clear();
  for (std::size_t row = 0; row < static_cast<std::size_t>(std::max(inputs.num_reqs, 0)); ++row) {
    const auto slot = static_cast<std::size_t>(inputs.idx_mapping[row]);
    const StateCopyDecision& decision = decisions.emplace_back(decide_align_advance_v2(
        {.state_idx = slots.state_idx[slot],
         .num_accepted_tokens = slots.num_accepted_tokens[slot],
         .num_computed_tokens = inputs.num_computed_tokens[slot],
         .query_len = inputs.query_start_loc[row + 1] - inputs.query_start_loc[row],
         .block_size = inputs.block_size}));
    slots.src_col[slot] = decision.src_col;
    slots.src_off[slot] = decision.accept_token_bias;
    slots.state_idx[slot] = decision.dst_col;
    slots.num_accepted_tokens[slot] = decision.num_accepted_tokens_after();
  }
  return Ok{};
}

Status run_fused_precopy(std::span<const std::int32_t> idx_mapping, const AlignSlots& slots,
                         std::vector<StateCopyDecision>& decisions) {
  const std::size_t num_slots = num_slots_of(slots);
  decisions.clear();
  for (std::size_t row = 0; row < idx_mapping.size(); ++row) {
    if (idx_mapping[row] < 0) {
      decisions.push_back(decide_padded_row(StateCopyRule::precopy_mamba_align_fused_kernel));
      continue;
    }
    const auto slot = static_cast<std::size_t>(idx_mapping[row]);
    if (slot >= num_slots) return outside_slots(row, idx_mapping[row], num_slots);
    decisions.push_back(decide_precopy_v2({.src_col = slots.src_col[slot],
                                           .src_off = slots.src_off[slot],
                                           .state_idx = slots.state_idx[slot]}));
  }
  return Ok{};
}

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
