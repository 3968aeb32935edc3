// Policies on the block lists of mamba and full-attention groups, and on which of their states stay
// cached.
#pragma once

#include <cstdint>

#include "core/base/policy_set.h"

namespace hybridscope {

// Policies on the block lists of mamba groups.

// Where is the end of a prompt registered inside a block? In the order of the releases.
// (semantics: prompt-tail-key)
enum class PromptTailKey : std::uint8_t {
  never,
  at_last_hash_block,       // 0.26.0: where the prompt's last full hash block ends
  before_eagle_hash_block,  // 0.30.0: in recurrent groups whose block is dropped, one earlier
  before_dropped_block,     // 0.31.0: in all recurrent groups, if any block is dropped
  at_replay_position,       // 0.32.0: where a resend of the prompt can hit
  at_replay_position_once,  // 0.33.0: if the block is not registered so already
};
template <>
struct PolicyOf<PromptTailKey> : PolicyAt<PromptTailKey::at_replay_position_once, 7> {};

// Which steps may give the end of a prompt its key inside a block? (known bug 56;
// semantics: prompt-tail-key)
enum class TailRegistration : std::uint8_t {
  of_its_chunk,
  of_later_steps_too,  // 0.26.0: with a frame in flight, of the step that overwrites the state
};
template <>
struct PolicyOf<TailRegistration> : PolicyAt<TailRegistration::of_its_chunk, 8> {};

// Which chunks of a prefill store a state before their end, and which of these states stay? In the
// order of the releases. (semantics: prefill-checkpoint)
enum class PrefillCheckpoint : std::uint8_t {
  never,
  every_chunk,         // 0.30.0: with retention interval 0 those of earlier chunks are dropped
  last_chunk,          // 0.31.0: with retention interval 0 only the last chunk stores one
  as_states_retained,  // 0.32.0: kept at the prompt's end, the junction and where states are
};
template <>
struct PolicyOf<PrefillCheckpoint> : PolicyAt<PrefillCheckpoint::as_states_retained, 10> {};

// Where may a chunk start that stores a state before its end? (known bug 55; semantics:
// prefill-checkpoint)
enum class CheckpointStart : std::uint8_t {
  on_block_boundary,
  inside_block_too,  // 0.30.0: the block that it leaves behind gets the key of a whole one
};
template <>
struct PolicyOf<CheckpointStart> : PolicyAt<CheckpointStart::on_block_boundary, 11> {};

// Which tokens count as computed when a request's old states are freed? (semantics:
// mamba-remove-skipped-blocks)
enum class SkippedBasis : std::uint8_t {
  optimistic_minus_drafts,  // all that were scheduled but as many as there are drafts
  processed,                // 0.26.0: those of frames that have returned
};
template <>
struct PolicyOf<SkippedBasis> : PolicyAt<SkippedBasis::optimistic_minus_drafts, 12> {};

// Does the search for old states go on past a column without a block?
enum class StateRetirement : std::uint8_t { first_null_stops, passes_nulls };
template <>
struct PolicyOf<StateRetirement> : PolicyAt<StateRetirement::first_null_stops, 13> {};

// Does an allocation that needs no block count as the request's first? (semantics:
// mamba-allocate-new-blocks)
enum class EmptyAllocation : std::uint8_t { not_noted, noted };
template <>
struct PolicyOf<EmptyAllocation> : PolicyAt<EmptyAllocation::not_noted, 14> {};

// Can a hit end inside an attention block that is registered in the same step? Its copy comes
// before the step writes. (known bug 57; semantics: copy-on-write)
enum class SameStepTail : std::uint8_t {
  waits,   // until the step has written it
  copied,  // 0.26.0: with what the block held before
};
template <>
struct PolicyOf<SameStepTail> : PolicyAt<SameStepTail::waits, 9> {};

// Where does a retention interval keep states besides its own grid? In the order of the releases.
// (semantics: retention)
enum class ReachableBoundaries : std::uint8_t {
  prompt_end,                        // 0.24.0: where a resend of the prompt hits
  prompt_end_and_junction,           // 0.26.0: and where a prefix ends that others share
  on_hit_grid,                       // 0.29.0: both rounded to where hits can end
  replay,                            // 0.30.0: with a dropped block, where a resend hits then
  replay_and_block_before_junction,  // 0.33.0: and a block before the junction
};
template <>
struct PolicyOf<ReachableBoundaries>
    : PolicyAt<ReachableBoundaries::replay_and_block_before_junction, 3> {};

}  // namespace hybridscope
