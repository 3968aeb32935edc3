// Policies on the length of cache hits: what the coordinator of the groups obeys.
#pragma once

#include <cstdint>

#include "core/base/policy_set.h"

namespace hybridscope {

// Does a mamba group get the one-block-longer limit of an eagle group? (known bug 2) Hits that may
// end inside a block never give it: they came after the last release that did.
enum class MambaEagleLookahead : std::uint8_t { longer_limit, none };
template <>
struct PolicyOf<MambaEagleLookahead> : PolicyAt<MambaEagleLookahead::none, 0> {};

// Which full-attention groups are cut to the agreed hit length? (semantics: find-longest-cache-hit)
enum class FullAttentionCut : std::uint8_t { first_spec_group, every_group };
template <>
struct PolicyOf<FullAttentionCut> : PolicyAt<FullAttentionCut::every_group, 1> {};

// How far beyond the agreed length does an attention group look for the block that the draft model
// computes again? In the order of the releases. (semantics: eagle-groups)
enum class EagleMargin : std::uint8_t {
  whole_block,                  // 0.24.0: one of its blocks, but never past the longest hit
  hash_block,                   // 0.26.0: one hash block where hits end inside blocks
  hash_block_to_the_last_hash,  // 0.32.0: and past the longest hit
};
template <>
struct PolicyOf<EagleMargin> : PolicyAt<EagleMargin::whole_block, 4> {};

// What makes room for the block that the draft model computes again? (semantics: look-ahead-hashes)
enum class EagleProof : std::uint8_t {
  block_drop,         // the last block of a hit is dropped
  look_ahead_hashes,  // 0.33.0: a block's hash covers the tokens after it, nothing is dropped
};
template <>
struct PolicyOf<EagleProof> : PolicyAt<EagleProof::block_drop, 5> {};

// Can a hit end inside a block? (semantics: hits-inside-blocks)
enum class HitsInsideBlocks : std::uint8_t {
  never,
  // 0.26.0: if a recurrent group's blocks hold several hash blocks. Prompts stop at their last hash
  // block even where hits then cannot end.
  stopping_at_hash_blocks,
  with_smaller_hash_blocks,  // 0.28.0
};
template <>
struct PolicyOf<HitsInsideBlocks> : PolicyAt<HitsInsideBlocks::with_smaller_hash_blocks, 6> {};

}  // namespace hybridscope
