// Hashes of a request's tokens, one per hash_block_size tokens, chained (semantics: block-hashes).
// The hash of a hash block is the fingerprint F at its end (semantics: fingerprint), so equal
// prefixes under one cache salt have equal hashes and no others do. With look-ahead tokens it is
// the fingerprint that many tokens later (semantics: look-ahead-hashes).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/fingerprint.h"

namespace hybridscope {

using BlockHash = Fingerprint;

// A request's hashes and what is needed to extend them.
struct BlockHashChain {
  std::int32_t hash_block_size = 16;      // tokens per hash block, positive
  std::int32_t num_tokens = 0;            // tokens folded so far
  std::int32_t num_lookahead_tokens = 0;  // that a hash covers besides those of its hash block
  Fingerprint fingerprint = 0;            // F(num_tokens)
  // [(num_tokens - num_lookahead_tokens) / hash_block_size]
  std::vector<BlockHash> block_hashes = {};
  friend bool operator==(const BlockHashChain&, const BlockHashChain&) = default;
};

// The chain of no tokens under `cache_salt` (0: none). Requires: hash_block_size > 0,
// num_lookahead_tokens >= 0.
BlockHashChain start_block_hashes(std::int32_t hash_block_size, std::uint64_t cache_salt = 0,
                                  std::int32_t num_lookahead_tokens = 0);

// Folds `tokens` into the chain; a hash is added for every hash block that becomes full.
void extend_block_hashes(BlockHashChain& chain, std::span<const TokenContent> tokens);

}  // namespace hybridscope
