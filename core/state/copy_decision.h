// Whether a request's state moves between two columns of its block table, and why. One body for the
// host and for kernels; a decision carries its inputs, each term and its outcome, so that it can be
// shown, compared and executed without being recomputed.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/base/math.h"

namespace hybridscope {

// Which rule made a decision. All but the last are functions of the reference (vLLM
// v1/worker/mamba_utils.py); the last belongs to the safe profile (docs/semantics/forward.md).
enum class StateCopyRule : std::uint8_t {
  preprocess_mamba,                     // V1 pre-copy (semantics: preprocess-mamba)
  preprocess_mamba_align_fused_kernel,  // V2 advance (semantics: preprocess-mamba-align)
  precopy_mamba_align_fused_kernel,     // V2 pre-copy (semantics: precopy-mamba-align)
  postprocess_mamba_v1,                 // V1 post-copy (semantics: postprocess-mamba)
  postprocess_mamba_v2,                 // the same with idx_mapping and a precomputed new count
  all_mode_boundary                     // (semantics: mode-all-with-drafts)
};

enum class StateCopyOutcome : std::uint8_t {
  copy,                // from src_col to dst_col, another column
  within_block_shift,  // src_col == dst_col: conv window shifts, temporal comes from a later column
  self_copy_skipped,   // src_col == dst_col and nothing to shift
  no_boundary,         // no boundary from num_tokens_running_state to new_num_computed_tokens
  fresh_state,         // nothing was stored for this request yet
  same_column,         // the running column did not change
  padded_row           // the row holds no request
};

// What a decision to copy means: conv positions accept_token_bias.. of column src_col go to
// positions 0.. of column dst_col; the temporal state of column src_col + accept_token_bias goes
// whole to column dst_col. Fields that a rule does not use stay at their defaults.
struct StateCopyDecision {
  StateCopyRule rule = StateCopyRule::preprocess_mamba;
  StateCopyOutcome outcome = StateCopyOutcome::padded_row;
  bool resets_accepted_count = false;  // the request's num_accepted_tokens becomes 1

  // Inputs.
  bool has_mamba_state_idx = false;       // the request had an entry (V1 pre-copy only)
  std::int32_t mamba_state_idx = -1;      // column before this decision; -1: none
  std::int32_t num_accepted_tokens = 1;   // bonus token included
  std::int32_t num_scheduled_tokens = 0;  // V2 advance: the row's query length
  std::int32_t num_computed_tokens = 0;   // before the step; V2 postprocess: unused
  std::int32_t num_draft_tokens = 0;
  std::int32_t block_size = 0;

  // Terms.
  std::int32_t computed_after = 0;            // pre rules: computed + scheduled
  std::int32_t num_tokens_running_state = 0;  // tokens that column src_col holds
  std::int32_t new_num_computed_tokens = 0;   // after acceptance
  std::int32_t aligned_new_computed = 0;      // rounded down to block_size
  std::int32_t accept_token_bias = 0;
  std::int32_t src_col = -1;
  std::int32_t dst_col = -1;  // pre rules: the new running column, whether or not a copy is made

  HS_HOST_DEVICE constexpr bool copies() const {
    return outcome == StateCopyOutcome::copy || outcome == StateCopyOutcome::within_block_shift;
  }
  HS_HOST_DEVICE constexpr std::int32_t num_accepted_tokens_after() const {
    return resets_accepted_count ? 1 : num_accepted_tokens;
  }
  friend bool operator==(const StateCopyDecision&, const StateCopyDecision&) = default;
};
static_assert(std::is_trivially_copyable_v<StateCopyDecision>);

// A row that holds no request (idx_mapping -1).
HS_HOST_DEVICE constexpr StateCopyDecision decide_padded_row(StateCopyRule rule) {
  StateCopyDecision decision;
  decision.rule = rule;
  return decision;
}

struct PreprocessV1Terms {
  bool has_mamba_state_idx = false;  // false: new or resumed request
  std::int32_t mamba_state_idx = -1;
  std::int32_t num_computed_tokens = 0;
  std::int32_t num_scheduled_tokens = 0;
  std::int32_t num_accepted_tokens = 1;
  std::int32_t block_size = 0;  // > 0
};

// preprocess_mamba for one request (semantics: preprocess-mamba). dst_col is the entry to remember
// in every case; mamba_state_idx without an entry is the column of the last computed token, -1 for
// none computed.
HS_HOST_DEVICE constexpr StateCopyDecision decide_preprocess_v1(const PreprocessV1Terms& in) {
  StateCopyDecision d;
  d.rule = StateCopyRule::preprocess_mamba;
  d.has_mamba_state_idx = in.has_mamba_state_idx;
  d.mamba_state_idx = in.has_mamba_state_idx ? in.mamba_state_idx
                                             : floor_div(in.num_computed_tokens - 1, in.block_size);
  d.num_accepted_tokens = in.num_accepted_tokens;
  d.num_scheduled_tokens = in.num_scheduled_tokens;
  d.num_computed_tokens = in.num_computed_tokens;
  d.block_size = in.block_size;
  d.computed_after = in.num_computed_tokens + in.num_scheduled_tokens;
  d.accept_token_bias = in.num_accepted_tokens - 1;
  d.src_col = d.mamba_state_idx;
  d.dst_col = cdiv(d.computed_after, in.block_size) - 1;
  if (d.src_col == -1) {
    d.outcome = StateCopyOutcome::fresh_state;
  } else if (d.src_col == d.dst_col) {
    d.outcome = StateCopyOutcome::same_column;
  } else {
    d.outcome = StateCopyOutcome::copy;
    d.resets_accepted_count = true;
  }
  return d;
}

struct AlignAdvanceV2Terms {
  std::int32_t state_idx = -1;  // of the slot, before the step; -1: fresh
  std::int32_t num_accepted_tokens = 1;
  std::int32_t num_computed_tokens = 0;
  std::int32_t query_len = 0;
  std::int32_t block_size = 0;  // > 0
};

// The V2 advance kernel for one request (semantics: preprocess-mamba-align): src_col and
// accept_token_bias (src_off) for the pre-copy, dst_col is the slot's new state_idx.
HS_HOST_DEVICE constexpr StateCopyDecision decide_align_advance_v2(const AlignAdvanceV2Terms& in) {
  StateCopyDecision d;
  d.rule = StateCopyRule::preprocess_mamba_align_fused_kernel;
  d.has_mamba_state_idx = true;
  d.mamba_state_idx = in.state_idx;
  d.num_accepted_tokens = in.num_accepted_tokens;
  d.num_scheduled_tokens = in.query_len;
  d.num_computed_tokens = in.num_computed_tokens;
  d.block_size = in.block_size;
  d.computed_after = in.num_computed_tokens + in.query_len;
  d.accept_token_bias = in.num_accepted_tokens > 1 ? in.num_accepted_tokens - 1 : 0;
  d.src_col = in.state_idx;
  d.dst_col = cdiv(d.computed_after, in.block_size) - 1;
  if (d.src_col < 0) {
    d.outcome = StateCopyOutcome::fresh_state;
  } else if (d.src_col == d.dst_col) {
    d.outcome = StateCopyOutcome::same_column;
  } else {
    d.outcome = StateCopyOutcome::copy;
    d.resets_accepted_count = true;
  }
  return d;
}

struct PrecopyV2Terms {
  std::int32_t src_col = -1;    // of the slot, from the advance; -1: fresh
  std::int32_t src_off = 0;     // accepted-token bias, from the advance
  std::int32_t state_idx = -1;  // of the slot, after the advance
};

// The V2 pre-copy kernel for one request (semantics: precopy-mamba-align). It leaves the accepted
// count alone: the advance has reset it already.
HS_HOST_DEVICE constexpr StateCopyDecision decide_precopy_v2(const PrecopyV2Terms& in) {
  StateCopyDecision d;
  d.rule = StateCopyRule::precopy_mamba_align_fused_kernel;
  d.has_mamba_state_idx = true;
  d.mamba_state_idx = in.state_idx;
  d.accept_token_bias = in.src_off;
  d.src_col = in.src_col;
  d.dst_col = in.state_idx;
  if (in.src_col < 0) {
    d.outcome = StateCopyOutcome::fresh_state;
  } else if (in.src_col == in.state_idx) {
    d.outcome = StateCopyOutcome::same_column;
  } else {
    d.outcome = StateCopyOutcome::copy;
  }
  return d;
}

namespace copy_decision_detail {

// The last part of both postprocess forms and of the boundary rule: num_tokens_running_state and
// aligned_new_computed are set.
HS_HOST_DEVICE constexpr void decide_snapshot(StateCopyDecision& d) {
  d.accept_token_bias = d.aligned_new_computed - d.num_tokens_running_state;
  d.src_col = d.mamba_state_idx;
  d.dst_col = floor_div(d.aligned_new_computed, d.block_size) - 1;
  if (d.aligned_new_computed < d.num_tokens_running_state) {
    d.outcome = StateCopyOutcome::no_boundary;
    return;
  }
  d.resets_accepted_count = d.src_col == d.dst_col;
  if (d.src_col != d.dst_col) {
    d.outcome = StateCopyOutcome::copy;
  } else if (d.accept_token_bias == 0) {
    d.outcome = StateCopyOutcome::self_copy_skipped;
  } else {
    d.outcome = StateCopyOutcome::within_block_shift;
  }
}

}  // namespace copy_decision_detail

struct PostprocessV1Terms {
  std::int32_t num_accepted_tokens = 1;
  std::int32_t mamba_state_idx = -1;  // the running column of this step
  std::int32_t num_scheduled_tokens = 0;
  std::int32_t num_computed_tokens = 0;  // before the step
  std::int32_t num_draft_tokens = 0;
  std::int32_t block_size = 0;  // > 0
};

// postprocess_mamba_fused_kernel for one request, V1 form (semantics: postprocess-mamba). Without a
// boundary the terms bias and dst_col are still those of the formula; only the outcome says nothing
// is done.
HS_HOST_DEVICE constexpr StateCopyDecision decide_postprocess_v1(const PostprocessV1Terms& in) {
  StateCopyDecision d;
  d.rule = StateCopyRule::postprocess_mamba_v1;
  d.has_mamba_state_idx = true;
  d.mamba_state_idx = in.mamba_state_idx;
  d.num_accepted_tokens = in.num_accepted_tokens;
  d.num_scheduled_tokens = in.num_scheduled_tokens;
  d.num_computed_tokens = in.num_computed_tokens;
  d.num_draft_tokens = in.num_draft_tokens;
  d.block_size = in.block_size;
  d.num_tokens_running_state =
      in.num_computed_tokens + in.num_scheduled_tokens - in.num_draft_tokens;
  d.new_num_computed_tokens = d.num_tokens_running_state + in.num_accepted_tokens - 1;
  d.aligned_new_computed = floor_div(d.new_num_computed_tokens, in.block_size) * in.block_size;
  copy_decision_detail::decide_snapshot(d);
  return d;
}

struct PostprocessV2Terms {
  std::int32_t num_accepted_tokens = 1;
  std::int32_t state_idx = -1;               // of the slot
  std::int32_t new_num_computed_tokens = 0;  // after acceptance
  std::int32_t block_size = 0;               // > 0
};

// The V2 form: the new count is given (semantics: postprocess-mamba-v2).
HS_HOST_DEVICE constexpr StateCopyDecision decide_postprocess_v2(const PostprocessV2Terms& in) {
  StateCopyDecision d;
  d.rule = StateCopyRule::postprocess_mamba_v2;
  d.has_mamba_state_idx = true;
  d.mamba_state_idx = in.state_idx;
  d.num_accepted_tokens = in.num_accepted_tokens;
  d.block_size = in.block_size;
  d.new_num_computed_tokens = in.new_num_computed_tokens;
  d.num_tokens_running_state = in.new_num_computed_tokens - in.num_accepted_tokens + 1;
  d.aligned_new_computed = floor_div(in.new_num_computed_tokens, in.block_size) * in.block_size;
  copy_decision_detail::decide_snapshot(d);
  return d;
}

// State moves that the reference lacks and the safe profile makes (docs/semantics/forward.md), as
// decisions of the same form as the reference's. One body for the host and for kernels.

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
