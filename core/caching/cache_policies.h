// Places in the caching stack where engines have behaved differently. The first value of each is
// what the reference does, the second is safe (docs/differences.md has the reasons).
#pragma once

#include <cstdint>

#include "core/base/policy_row.h"

namespace hybridscope {

// Does a mamba group get the one-block-longer limit of an eagle group? (known bug 2) Hits that may
// end inside a block never give it: they came after the last release that did.
enum class MambaEagleLookahead : std::uint8_t { longer_limit, none };

// Which full-attention groups are cut to the agreed hit length? (semantics: find-longest-cache-hit)
enum class FullAttentionCut : std::uint8_t { first_spec_group, every_group };

// What happens to a block that was registered in this step when its writer is preempted before it
// wrote it, and may another request use it in the same step? (known bugs 43, 49)
enum class BlockRegistration : std::uint8_t {
  at_allocation,  // another request waits if the last state of its hit was registered in this step
  planned_then_published,
  at_allocation_hit_at_once,  // before February 2026: no request waits
};

// Where does a retention interval keep states besides its own grid? In the order of the releases.
// (semantics: retention)
enum class ReachableBoundaries : std::uint8_t {
  prompt_end,                        // 0.24.0: where a resend of the prompt hits
  prompt_end_and_junction,           // 0.26.0: and where a prefix ends that others share
  on_hit_grid,                       // 0.29.0: both rounded to where hits can end
  replay,                            // 0.30.0: with a dropped block, where a resend hits then
  replay_and_block_before_junction,  // 0.33.0: and a block before the junction
};

// How far beyond the agreed length does an attention group look for the block that the draft model
// computes again? In the order of the releases. (semantics: eagle-groups)
enum class EagleMargin : std::uint8_t {
  whole_block,                  // 0.24.0: one of its blocks, but never past the longest hit
  hash_block,                   // 0.26.0: one hash block where hits end inside blocks
  hash_block_to_the_last_hash,  // 0.32.0: and past the longest hit
};

// What makes room for the block that the draft model computes again? (semantics: look-ahead-hashes)
enum class EagleProof : std::uint8_t {
  block_drop,         // the last block of a hit is dropped
  look_ahead_hashes,  // 0.33.0: a block's hash covers the tokens after it, nothing is dropped
};

// Can a hit end inside a block? (semantics: hits-inside-blocks)
enum class HitsInsideBlocks : std::uint8_t {
  never,
  // 0.26.0: if a recurrent group's blocks hold several hash blocks. Prompts stop at their last hash
  // block even where hits then cannot end.
  stopping_at_hash_blocks,
  with_smaller_hash_blocks,  // 0.28.0
};

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

// Which tokens count as computed when a request's old states are freed? (semantics:
// mamba-remove-skipped-blocks)
enum class SkippedBasis : std::uint8_t {
  optimistic_minus_drafts,  // all that were scheduled but as many as there are drafts
  processed,                // 0.26.0: those of frames that have returned
};

// Does the search for old states go on past a column without a block?
enum class StateRetirement : std::uint8_t { first_null_stops, passes_nulls };

// Does an allocation that needs no block count as the request's first? (semantics:
// mamba-allocate-new-blocks)
enum class EmptyAllocation : std::uint8_t { not_noted, noted };

// Without prefix caching, to which end of the free queue do freed blocks go?
enum class UncachedFree : std::uint8_t { to_front, to_back };

// Can a hit end inside an attention block that is registered in the same step? Its copy comes
// before the step writes. (known bug 57; semantics: copy-on-write)
enum class SameStepTail : std::uint8_t {
  waits,   // until the step has written it
  copied,  // 0.26.0: with what the block held before
};

// Which chunks of a prefill store a state before their end, and which of these states stay? In the
// order of the releases. (semantics: prefill-checkpoint)
enum class PrefillCheckpoint : std::uint8_t {
  never,
  every_chunk,         // 0.30.0: with retention interval 0 those of earlier chunks are dropped
  last_chunk,          // 0.31.0: with retention interval 0 only the last chunk stores one
  as_states_retained,  // 0.32.0: kept at the prompt's end, the junction and where states are
};

// Where may a chunk start that stores a state before its end? (known bug 55; semantics:
// prefill-checkpoint)
enum class CheckpointStart : std::uint8_t {
  on_block_boundary,
  inside_block_too,  // 0.30.0: the block that it leaves behind gets the key of a whole one
};

// Which steps may give the end of a prompt its key inside a block? (known bug 56;
// semantics: prompt-tail-key)
enum class TailRegistration : std::uint8_t {
  of_its_chunk,
  of_later_steps_too,  // 0.26.0: with a frame in flight, of the step that overwrites the state
};

struct CachePolicies {
  MambaEagleLookahead mamba_eagle_lookahead = MambaEagleLookahead::none;
  FullAttentionCut full_attention_cut = FullAttentionCut::every_group;
  BlockRegistration block_registration = BlockRegistration::planned_then_published;
  ReachableBoundaries reachable_boundaries = ReachableBoundaries::replay_and_block_before_junction;
  EagleMargin eagle_margin = EagleMargin::whole_block;
  EagleProof eagle_proof = EagleProof::block_drop;
  HitsInsideBlocks hits_inside_blocks = HitsInsideBlocks::with_smaller_hash_blocks;
  PromptTailKey prompt_tail_key = PromptTailKey::at_replay_position_once;
  TailRegistration tail_registration = TailRegistration::of_its_chunk;
  SameStepTail same_step_tail = SameStepTail::waits;
  PrefillCheckpoint prefill_checkpoint = PrefillCheckpoint::as_states_retained;
  CheckpointStart checkpoint_start = CheckpointStart::on_block_boundary;
  SkippedBasis skipped_basis = SkippedBasis::optimistic_minus_drafts;
  StateRetirement state_retirement = StateRetirement::first_null_stops;
  EmptyAllocation empty_allocation = EmptyAllocation::not_noted;
  UncachedFree uncached_free = UncachedFree::to_front;
  friend bool operator==(const CachePolicies&, const CachePolicies&) = default;
};

// Calls visit(PolicyRow) for each of them.
template <class Visit>
constexpr void for_each_cache_policy(Visit visit) {
  visit(PolicyRow(&CachePolicies::mamba_eagle_lookahead,
                  {.name = "mamba_eagle_lookahead",
                   .values = {"longer_limit", "none"},
                   .help = "with drafts, whether a recurrent group looks one block beyond the hit"},
                  MambaEagleLookahead::longer_limit));
  visit(PolicyRow(&CachePolicies::full_attention_cut,
                  {.name = "full_attention_cut",
                   .values = {"first_spec_group", "every_group"},
                   .help = "which attention groups are cut to the hit"},
                  FullAttentionCut::first_spec_group));
  visit(
      PolicyRow(&CachePolicies::block_registration,
                {.name = "block_registration",
                 .values = {"at_allocation", "planned_then_published", "at_allocation_hit_at_once"},
                 .help = "when other requests can hit a block"},
                BlockRegistration::at_allocation));
  visit(PolicyRow(&CachePolicies::reachable_boundaries,
                  {.name = "reachable_boundaries",
                   .values = {"prompt_end", "prompt_end_and_junction", "on_hit_grid", "replay",
                              "replay_and_block_before_junction"},
                   .help = "which states a retention interval keeps besides its own"},
                  ReachableBoundaries::prompt_end));
  visit(PolicyRow(&CachePolicies::eagle_margin,
                  {.name = "eagle_margin",
                   .values = {"whole_block", "hash_block", "hash_block_to_the_last_hash"},
                   .help = "with drafts, how far an attention group looks beyond the hit"}));
  visit(PolicyRow(&CachePolicies::eagle_proof,
                  {.name = "eagle_proof",
                   .values = {"block_drop", "look_ahead_hashes"},
                   .help = "with drafts, what makes room for the block that is computed again"}));
  visit(PolicyRow(&CachePolicies::hits_inside_blocks,
                  {.name = "hits_inside_blocks",
                   .values = {"never", "stopping_at_hash_blocks", "with_smaller_hash_blocks"},
                   .help = "whether a hit can end inside a block"},
                  HitsInsideBlocks::never));
  visit(PolicyRow(
      &CachePolicies::prompt_tail_key,
      {.name = "prompt_tail_key",
       .values = {"never", "at_last_hash_block", "before_eagle_hash_block", "before_dropped_block",
                  "at_replay_position", "at_replay_position_once"},
       .help = "where the end of a prompt is registered inside a block"},
      PromptTailKey::never));
  visit(PolicyRow(&CachePolicies::tail_registration,
                  {.name = "tail_registration",
                   .values = {"of_its_chunk", "of_later_steps_too"},
                   .help = "which steps register the end of a prompt inside a block"}));
  visit(PolicyRow(&CachePolicies::same_step_tail,
                  {.name = "same_step_tail",
                   .values = {"waits", "copied"},
                   .help = "whether a hit ends inside an attention block of the same step"}));
  visit(PolicyRow(&CachePolicies::prefill_checkpoint,
                  {.name = "prefill_checkpoint",
                   .values = {"never", "every_chunk", "last_chunk", "as_states_retained"},
                   .help = "which chunks of a prefill store a state before their end"},
                  PrefillCheckpoint::never));
  visit(PolicyRow(&CachePolicies::checkpoint_start,
                  {.name = "checkpoint_start",
                   .values = {"on_block_boundary", "inside_block_too"},
                   .help = "from where a chunk may store a state before its end"}));
  visit(PolicyRow(&CachePolicies::skipped_basis,
                  {.name = "skipped_basis",
                   .values = {"optimistic_minus_drafts", "processed"},
                   .help = "which tokens count as computed when old states are freed"}));
  visit(PolicyRow(&CachePolicies::state_retirement,
                  {.name = "state_retirement",
                   .values = {"first_null_stops", "passes_nulls"},
                   .help = "whether old states left of an empty column are freed"}));
  visit(PolicyRow(&CachePolicies::empty_allocation,
                  {.name = "empty_allocation",
                   .values = {"not_noted", "noted"},
                   .help = "whether an allocation of no block counts as the request's first"}));
  visit(PolicyRow(&CachePolicies::uncached_free,
                  {.name = "uncached_free",
                   .values = {"to_front", "to_back"},
                   .help = "without prefix caching, where in the free queue freed blocks go"}));
}

// The policies that the reference vectors were made with.
constexpr CachePolicies reference_cache_policies() {
  CachePolicies policies;
  for_each_cache_policy([&policies](const auto& row) { policies.*row.member = row.reference; });
  return policies;
}

}  // namespace hybridscope
