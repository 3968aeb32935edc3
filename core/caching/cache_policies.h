// Places in the caching stack where engines have behaved differently. The first value of each is
// what the reference does, the second is safe (docs/differences.md has the reasons).
#pragma once

#include <cstdint>

#include "core/base/policy_row.h"

namespace hybridscope {

// Does a mamba group get the one-block-longer limit of an eagle group? (known bug 2)
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

struct CachePolicies {
  MambaEagleLookahead mamba_eagle_lookahead = MambaEagleLookahead::none;
  FullAttentionCut full_attention_cut = FullAttentionCut::every_group;
  BlockRegistration block_registration = BlockRegistration::planned_then_published;
  ReachableBoundaries reachable_boundaries = ReachableBoundaries::replay_and_block_before_junction;
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
}

// The policies that the reference vectors were made with.
constexpr CachePolicies reference_cache_policies() {
  CachePolicies policies;
  for_each_cache_policy([&policies](const auto& row) { policies.*row.member = row.reference; });
  return policies;
}

}  // namespace hybridscope
