#include "core/state/copy_launch.h"

namespace hybridscope {

void collect_mamba_copy_meta(const StateCopyDecision& decision, const DecidedRow& decided,
                             MambaBlockTables tables, std::vector<StateCopyTrace>& copies) {
  if (!decision.copies()) return;
  for (const MambaBlockTable& table : tables)
    copies.push_back({.decision = decided.decision,
                      .group = table.group,
                      .conv_src_block = table.block_at(decided.row, decision.src_col),
                      .temporal_src_block = table.block_at(
                          decided.row, decision.src_col + decision.accept_token_bias),
                      .dst_block = table.block_at(decided.row, decision.dst_col),
                      .accept_token_bias = decision.accept_token_bias});
}

void collect_batch_copy_meta(std::span<const StateCopyDecision> decisions, MambaBlockTables tables,
                             std::vector<StateCopyTrace>& copies) {
  for (std::size_t r = 0; r < decisions.size(); ++r) {
    const auto row = static_cast<std::int32_t>(r);
    collect_mamba_copy_meta(decisions[r], {.decision = row, .row = row}, tables, copies);
  }
}

void suppress_backward_copies(std::span<StateCopyDecision> decisions) {
  for (StateCopyDecision& decision : decisions)
    if (decision.copies() && decision.dst_col < decision.src_col)
      decision.outcome = StateCopyOutcome::no_boundary;
}

void skip_copies_with_reset_in_place(std::span<StateCopyDecision> decisions) {
  for (StateCopyDecision& decision : decisions)
    if (decision.copies() && decision.rule == StateCopyRule::postprocess_mamba_v2 &&
        decision.resets_accepted_count)
      decision.outcome = StateCopyOutcome::self_copy_skipped;
}

void use_blocks_of_first_group(std::span<StateCopyTrace> copies) {
  for (std::size_t i = 1; i < copies.size(); ++i) {
    const StateCopyTrace& first = copies[i - 1];
    StateCopyTrace& copy = copies[i];
    if (copy.decision != first.decision) continue;
    copy.conv_src_block = first.conv_src_block;
    copy.temporal_src_block = first.temporal_src_block;
    copy.dst_block = first.dst_block;
  }
}

}  // namespace hybridscope
