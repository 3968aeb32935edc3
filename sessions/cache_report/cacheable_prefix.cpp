#include "sessions/cache_report/cacheable_prefix.h"

#include <algorithm>

#include "core/base/math.h"
#include "core/caching/hybrid_coordinator.h"
#include "core/caching/hybrid_coordinator_policies.h"
#include "core/engine/scheduler_setup.h"

namespace hybridscope {

CacheRules cache_rules(const EngineConfig& config) {
  CacheRules rules;
  const auto& groups = config.kv_cache_config.groups;
  rules.caching = config.enable_prefix_caching && !groups.empty();
  rules.grid = std::max(config.scheduler_block_size, 1);
  rules.block_size = rules.grid;
  for (const KVCacheGroup& group : groups) {
    rules.has_states = rules.has_states || group.is_mamba();
    if (group.is_mamba()) rules.block_size = group.block_size();
  }
  const KVCacheManagerConfig cache = kv_cache_manager_config(config);
  const auto coordinator = HybridCoordinator::create({.groups = groups,
                                                      .enable_caching = cache.enable_caching,
                                                      .use_eagle = cache.use_eagle,
                                                      .scheduler_block_size = rules.grid,
                                                      .hash_block_size = cache.hash_block_size,
                                                      .policies = cache.policies});
  if (!rules.caching || !coordinator.ok()) return rules;
  rules.grid = coordinator.value().hit_alignment();
  rules.hash_lookahead = cache.num_hash_lookahead_tokens;
  const bool to_the_last_hash = cache.policies.is(EagleMargin::hash_block_to_the_last_hash);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (!coordinator.value().is_eagle_group(static_cast<std::int32_t>(g))) continue;
    const std::int32_t block_size = groups[g].block_size();
    if (!groups[g].is_mamba())
      rules.eagle_block = std::max(rules.eagle_block, std::min(block_size, rules.grid));
    else if (groups.size() > 1 && coordinator.value().mamba_groups_look_ahead())
      rules.state_lookahead = std::max(rules.state_lookahead, block_size);
  }
  rules.finds_last_block = to_the_last_hash && rules.eagle_block > 0 && groups.size() > 1;
  return rules;
}

std::int32_t longest_key(const CacheRules& rules, std::int32_t num_tokens) {
  return num_tokens - (rules.finds_last_block ? 0 : 1);
}

std::int32_t longest_possible_hit(const CacheRules& rules, std::int32_t num_common,
                                  std::int32_t num_tokens) {
  if (!rules.caching) return 0;
  const std::int32_t in_common = num_common - rules.hash_lookahead;
  const std::int32_t servable = std::max(std::min(in_common, num_tokens - 1), 0);
  const std::int32_t found = std::min(in_common, longest_key(rules, num_tokens));
  const std::int32_t attention = round_down(std::max(found - rules.eagle_block, 0), rules.grid);
  if (rules.state_lookahead == 0) return attention;
  return round_down(std::min(attention + rules.state_lookahead, servable), rules.grid);
}

std::optional<std::int32_t> smallest_cacheable_prefix(const CacheRules& rules) {
  if (!rules.caching) return std::nullopt;
  for (const std::int32_t more : {0, rules.eagle_block, rules.hash_lookahead})
    if (longest_possible_hit(rules, rules.grid + more, rules.grid + more + 1) > 0)
      return rules.grid + more;
  return std::nullopt;
}

std::optional<std::int32_t> smallest_cacheable_prompt(const CacheRules& rules) {
  const auto prefix = smallest_cacheable_prefix(rules);
  if (!prefix) return std::nullopt;
  return longest_possible_hit(rules, *prefix, *prefix) > 0 ? *prefix : *prefix + 1;
}

}  // namespace hybridscope
