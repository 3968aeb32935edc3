// The lengths that a prefix-cache hit can have under a configuration
// (semantics: find-longest-cache-hit; HybridKVCacheCoordinator.find_longest_cache_hit), whatever
// the cache holds.
#pragma once

#include <cstdint>
#include <optional>

#include "core/engine/engine_config.h"

namespace hybridscope {

struct CacheRules {
  bool caching = false;
  std::int32_t grid = 1;         // tokens; a hit is a multiple of it
  std::int32_t eagle_block = 0;  // tokens found behind the hit that the draft model needs computed
                                 // again; 0: none
  // MambaEagleLookahead::longer_limit: tokens by which a state may lie behind what attention
  // serves; 0: none.
  std::int32_t state_lookahead = 0;
  bool has_states = false;
  friend bool operator==(const CacheRules&, const CacheRules&) = default;
};

CacheRules cache_rules(const EngineConfig& config);

// The hit of a request with `num_tokens` known tokens if everything of its first `num_common`
// tokens were in the cache: every block, and a state at every boundary. The last known token is
// never served, as its logits are needed.
std::int32_t longest_possible_hit(const CacheRules& rules, std::int32_t num_common,
                                  std::int32_t num_tokens);

// The fewest tokens that a request has to have in common with an earlier one, with at least one
// token behind them, to be served any. Empty: nothing is ever served.
std::optional<std::int32_t> smallest_cacheable_prefix(const CacheRules& rules);

}  // namespace hybridscope
