// Policies of the scheduler.
#pragma once

#include <cstdint>

#include "core/base/policy_set.h"

namespace hybridscope {

// May a waiting request with one token left be padded to 1 + K tokens? (known bug 8; semantics:
// padded-prompt)
enum class OneTokenPrompt : std::uint8_t {
  as_is,                     // 0.24.0 too
  padded_with_placeholders,  // reference, 0.25.0: if running requests decode in the step
  padding_undone_by_split,   // 0.29.0: not if the split or max_model_len leaves less room
  padded_alone_too,          // 0.30.0: also without running requests, if some of it is cached
};
template <>
struct PolicyOf<OneTokenPrompt> : PolicyAt<OneTokenPrompt::as_is, 19> {};

// What becomes of a frame in flight when its request is reset? (known bugs 17, 51;
// semantics: reset-in-flight)
enum class StaleFrame : std::uint8_t {
  dropped_by_run,          // frames of an earlier run are dropped whole
  discard_by_token_count,  // reference, 0.24.0: rejections still count, then as many frames as
                           // there were placeholders lose their tokens
  discard_by_token_count_no_rollback,  // 0.25.0: rejections of such a frame do not count
  drained_by_scheduled_tokens,  // 0.27.1: a frame that was in flight at any preemption changes no
                                // count; its tokens are dropped after a reset only
};
template <>
struct PolicyOf<StaleFrame> : PolicyAt<StaleFrame::dropped_by_run, 23> {};

// Blocks are refused while a deferred free is on its way: wait a step for it, or preempt another
// request? Preempting on may never end when no request's blocks are freed at once.
enum class DeferredFreeRefusal : std::uint8_t {
  wait_for_the_frame,
  preempt_on,  // reference
};
template <>
struct PolicyOf<DeferredFreeRefusal> : PolicyAt<DeferredFreeRefusal::wait_for_the_frame, 25> {};

// Asynchronous: where does a request that has to wait for stale frames wait? (semantics:
// preempted-in-flight)
enum class StaleRequestQueue : std::uint8_t {
  of_its_own,    // 0.27.1: in a queue that is asked first
  in_its_place,  // 0.31.0
};
template <>
struct PolicyOf<StaleRequestQueue> : PolicyAt<StaleRequestQueue::in_its_place, 26> {};

// Do the slots that a drafter needs for each row count in the step's budget?
enum class DraftSlots : std::uint8_t { free, counted };
template <>
struct PolicyOf<DraftSlots> : PolicyAt<DraftSlots::free, 27> {};

// When does long_prefill_token_threshold cut a chunk?
enum class LongPrefillThreshold : std::uint8_t { always, with_other_requests };
template <>
struct PolicyOf<LongPrefillThreshold> : PolicyAt<LongPrefillThreshold::always, 28> {};

// Policy priority: the victim of a preemption ran before the request that asks for blocks.
enum class PreemptionIndex : std::uint8_t {
  if_scheduled,          // the loop moves back by one only if the victim had tokens in this step
  always,                // 0.28.0
  goes_on_after_itself,  // 0.33.0: and a request that preempts itself does not end the loop
};
template <>
struct PolicyOf<PreemptionIndex> : PolicyAt<PreemptionIndex::if_scheduled, 29> {};

// Does the step after a reset report the requests that it preempted?
enum class ResetPreemptions : std::uint8_t { reported, not_reported };
template <>
struct PolicyOf<ResetPreemptions> : PolicyAt<ResetPreemptions::reported, 30> {};

// Whose blocks are registered when a frame returns? (semantics: update-from-output-async)
enum class CommitRegistration : std::uint8_t {
  asynchronous,            // up to the computed tokens without placeholders
  asynchronous_or_drafts,  // 0.33.0: and synchronous ones with drafts, up to what is not in flight
};
template <>
struct PolicyOf<CommitRegistration> : PolicyAt<CommitRegistration::asynchronous, 31> {};

// A stop cuts sampled tokens off: do they still count as computed?
enum class StoppedTokens : std::uint8_t { stay_computed, taken_back };
template <>
struct PolicyOf<StoppedTokens> : PolicyAt<StoppedTokens::stay_computed, 32> {};

// Does the drafter run in a step after which no request can use drafts?
enum class UnusedDrafts : std::uint8_t { drafted, skipped };
template <>
struct PolicyOf<UnusedDrafts> : PolicyAt<UnusedDrafts::drafted, 33> {};

// Are the leading blocks that all running requests share counted for cascade attention?
enum class CommonPrefixBlocks : std::uint8_t { counted, gone };
template <>
struct PolicyOf<CommonPrefixBlocks> : PolicyAt<CommonPrefixBlocks::counted, 34> {};

}  // namespace hybridscope
