#include "core/caching/block_hash.h"

#include "core/base/result.h"

namespace hybridscope {

BlockHashChain start_block_hashes(std::int32_t hash_block_size, std::uint64_t cache_salt,
                                  std::int32_t num_lookahead_tokens) {
  HS_EXPECT(hash_block_size > 0 && num_lookahead_tokens >= 0);
  return {.hash_block_size = hash_block_size,
          .num_tokens = 0,
          .num_lookahead_tokens = num_lookahead_tokens,
          .fingerprint = seed_fingerprint(cache_salt),
          .block_hashes = {}};
}

void extend_block_hashes(BlockHashChain& chain, std::span<const TokenContent> tokens) {
  const auto num_hashes = static_cast<std::int32_t>(chain.block_hashes.size());
  std::int32_t until_full =
      (num_hashes + 1) * chain.hash_block_size + chain.num_lookahead_tokens - chain.num_tokens;
  Fingerprint fingerprint = chain.fingerprint;
  for (const TokenContent token : tokens) {
    fingerprint = extend_fingerprint(fingerprint, token);
    if (--until_full > 0) continue;
    chain.block_hashes.push_back(fingerprint);
    until_full = chain.hash_block_size;
  }
  chain.fingerprint = fingerprint;
  chain.num_tokens += static_cast<std::int32_t>(tokens.size());
}

}  // namespace hybridscope
