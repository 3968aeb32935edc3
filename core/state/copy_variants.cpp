#include "core/state/copy_variants.h"

#include <cstddef>

namespace hybridscope {

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
