// State moves that the reference lacks and the safe profile makes (docs/semantics/forward.md), as
// decisions of the same form as the reference's. One body for the host and for kernels.
#pragma once

#include <cstdint>

#include "core/base/host_device.h"
#include "core/base/math.h"
#include "core/state/copy_decision.h"

namespace hybridscope {

struct AllModeBoundaryTerms {
  std::int32_t num_computed_tokens = 0;  // c, before the step
  std::int32_t num_accepted_tokens = 1;  // a, of this step
  std::int32_t last_scheduled_col = -1;  // L: query token t wrote its state to column L + t
  std::int32_t block_size = 0;           // > 0
};

// The boundaries p with c < p * block_size <= c + a: [first, first + count).
struct AllModeBoundaries {
  std::int32_t first = 0;
  std::int32_t count = 0;
};
HS_HOST_DEVICE constexpr AllModeBoundaries all_mode_boundaries(const AllModeBoundaryTerms& in) {
  const std::int32_t first = floor_div(in.num_computed_tokens, in.block_size) + 1;
  const std::int32_t last =
      floor_div(in.num_computed_tokens + in.num_accepted_tokens, in.block_size);
  return {first, last >= first ? last - first + 1 : 0};
}

// Profile `safe` (semantics: mode-all-with-drafts): S(boundary * block_size) goes from column
// L + (boundary * block_size - c - 1) to column boundary - 1. Requires: boundary is one of
// all_mode_boundaries(in). Copies of one request run in ascending order of boundary: the last one
// may write column L, which the others read. resets_accepted_count then says that the running state
// was moved to the start of its own column, as in align.
HS_HOST_DEVICE constexpr StateCopyDecision decide_all_mode_boundary_copy(
    const AllModeBoundaryTerms& in, std::int32_t boundary) {
  StateCopyDecision d;
  d.rule = StateCopyRule::all_mode_boundary;
  d.has_mamba_state_idx = true;
  d.mamba_state_idx = in.last_scheduled_col;
  d.num_accepted_tokens = in.num_accepted_tokens;
  d.num_computed_tokens = in.num_computed_tokens;
  d.block_size = in.block_size;
  d.num_tokens_running_state = in.num_computed_tokens + 1;
  d.new_num_computed_tokens = in.num_computed_tokens + in.num_accepted_tokens;
  d.aligned_new_computed = boundary * in.block_size;
  copy_decision_detail::decide_snapshot(d);
  return d;
}

}  // namespace hybridscope
