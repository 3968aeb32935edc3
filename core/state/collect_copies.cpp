#include "core/state/collect_copies.h"

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

}  // namespace hybridscope
