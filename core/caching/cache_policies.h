// Places in the caching stack where engines have behaved differently. The first value of each is
// what the reference pages do, the second is safe (docs/differences.md has the reasons).
#pragma once

#include <cstdint>

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
  at_allocation_hit_at_once,  // before February 2026: nobody waits
};

struct CachePolicies {
  MambaEagleLookahead mamba_eagle_lookahead = MambaEagleLookahead::none;
  FullAttentionCut full_attention_cut = FullAttentionCut::every_group;
  BlockRegistration block_registration = BlockRegistration::planned_then_published;
  friend bool operator==(const CachePolicies&, const CachePolicies&) = default;
};

// What the reference vectors were made with.
constexpr CachePolicies pages_cache_policies() {
  return {MambaEagleLookahead::longer_limit, FullAttentionCut::first_spec_group,
          BlockRegistration::at_allocation};
}

}  // namespace hybridscope
