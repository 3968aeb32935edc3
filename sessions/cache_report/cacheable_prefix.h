// The possible lengths of a prefix cache hit under a configuration, independent of what the cache
// holds (semantics: find-longest-cache-hit; HybridKVCacheCoordinator.find_longest_cache_hit).
#pragma once

#include <cstdint>
#include <optional>

#include "core/engine/engine_config.h"

namespace hybridscope {

struct CacheRules {
  bool caching = false;
  std::int32_t grid = 1;         // tokens; every hit is a multiple of it
  std::int32_t block_size = 1;   // of the recurrent groups; a hit on the grid may end inside
  std::int32_t eagle_block = 0;  // tokens after the hit that must be found too and are computed
                                 // again for the draft model; 0: none
  // MambaEagleLookahead::longer_limit: tokens by which a state may lie beyond what attention
  // serves; 0: none.
  std::int32_t state_lookahead = 0;
  // Tokens after the hit that have to be in common because the keys of blocks cover them
  // (semantics: look-ahead-hashes).
  std::int32_t hash_lookahead = 0;
  // EagleMargin::hash_block_to_the_last_hash: a block that is dropped may end with the last token.
  bool finds_last_block = false;
  bool has_states = false;
  friend bool operator==(const CacheRules&, const CacheRules&) = default;
};

CacheRules cache_rules(const EngineConfig& config);

// The longest prefix of a request with `num_tokens` known tokens that attention is asked for.
std::int32_t longest_key(const CacheRules& rules, std::int32_t num_tokens);

// The hit of a request with `num_tokens` known tokens if the cache held every block and every
// boundary state of its first `num_common` tokens. The last known token is never served: its logits
// are needed.
std::int32_t longest_possible_hit(const CacheRules& rules, std::int32_t num_common,
                                  std::int32_t num_tokens);

// The shortest prefix that a request must share with an earlier one to get any hit. Empty: no
// prefix is ever served.
std::optional<std::int32_t> smallest_cacheable_prefix(const CacheRules& rules);

// Tokens of the shortest request that such a prefix serves. Empty: there is none.
std::optional<std::int32_t> smallest_cacheable_prompt(const CacheRules& rules);

}  // namespace hybridscope
