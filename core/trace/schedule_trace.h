// What one call of the scheduler decided, as values for the step's trace.
#pragma once

#include <cstdint>

#include "core/base/ids.h"
#include "core/caching/cache_hit.h"

namespace hybridscope {

// How a request came into a step.
enum class Admission : std::uint8_t {
  running,      // it was running already
  new_request,  // admitted for the first time
  resumed,      // admitted again after a preemption
};

// Why a request got no tokens in a step.
enum class SkipReason : std::uint8_t {
  no_token_budget,         // too little of the budget is left
  split_to_zero,           // mode align: the tokens that it could get reach no block boundary
  max_model_len,           // what it would run does not fit below max_model_len, or it has nothing
  chunked_prefill_off,     // the prompt does not fit the budget as a whole
  allocation_refused,      // too few free blocks, or a hit block is written in this very step
  max_num_seqs,            // max_num_seqs requests already run
  behind_refused_request,  // an earlier waiting request was refused
  preemption_in_step,      // a step that preempts a request admits none
  ends_in_flight,          // a frame in flight returns its last token even if no draft is accepted
  frees_deferred,          // blocks that were freed are not in the pool yet
  frame_in_flight,         // preempted while a frame was in flight, which has to return first
};

struct SkippedRequest {
  RequestId request{};
  SkipReason reason = SkipReason::no_token_budget;
};

// What limited the tokens that the scheduler could give a request in a step, in the order in which
// it applies the limits. Only for requests that it got as far as counting tokens for.
struct TokenTerms {
  RequestId request{};
  std::int32_t budget_left = 0;        // of the step, for this request; a drafter's slots taken off
  std::int32_t prefill_threshold = 0;  // long_prefill_token_threshold; 0: it does not cut here
  std::int32_t shared_prefix_boundary = 0;  // AlignedSplitInputs::shared_prefix_boundary
  std::int32_t num_computed_tokens = 0;     // c before the step, or the hit of an admission
  std::int32_t num_new_tokens = 0;          // that the aligned split was asked about
  friend bool operator==(const TokenTerms&, const TokenTerms&) = default;
};

// What the scheduler did with a row of a frame that returned.
enum class CommitOutcome : std::uint8_t {
  taken,            // rejected drafts taken back, tokens appended
  chunk,            // an unfinished prefill chunk: nothing to append
  preempted,        // preempted since it was scheduled: tokens, if any, count; the state is gone
  stale_run,        // reset since it was scheduled: its tokens are dropped
  left_the_engine,  // finished or aborted since it was scheduled
};

// One prefix-cache lookup of a waiting request.
struct AdmissionLookup {
  RequestId request{};
  std::int32_t num_hit_tokens = 0;
  bool admitted = false;
  LookupExplanation explanation;
};

}  // namespace hybridscope
