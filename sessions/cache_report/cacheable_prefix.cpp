#include "sessions/cache_report/cacheable_prefix.h"

#include <algorithm>

#include "core/base/math.h"

namespace hybridscope {
namespace {

bool is_eagle(const EngineConfig& config, const KVCacheGroup& group) {
  if (config.speculative_method != SpeculativeMethod::mtp) return false;
  const auto& groups = config.kv_cache_config.groups;
  const bool any_flagged =
      std::any_of(groups.begin(), groups.end(), [](const auto& g) { return g.is_eagle_group; });
  if (!any_flagged) return true;
  // One eagle group makes every group of the same spec an eagle group.
  return std::any_of(groups.begin(), groups.end(), [&](const KVCacheGroup& other) {
    return other.is_eagle_group && other.spec == group.spec;
  });
}

}  // namespace

CacheRules cache_rules(const EngineConfig& config) {
  CacheRules rules;
  const auto& groups = config.kv_cache_config.groups;
  rules.caching = config.enable_prefix_caching && !groups.empty();
  rules.grid =
      groups.size() == 1 ? groups.front().block_size() : std::max(config.scheduler_block_size, 1);
  for (const KVCacheGroup& group : groups) {
    rules.has_states = rules.has_states || group.is_mamba();
    if (!is_eagle(config, group)) continue;
    if (!group.is_mamba())
      rules.eagle_block = std::max(rules.eagle_block, group.block_size());
    else if (groups.size() > 1 &&
             config.policies.cache.mamba_eagle_lookahead == MambaEagleLookahead::longer_limit)
      rules.state_lookahead = std::max(rules.state_lookahead, group.block_size());
  }
  return rules;
}

std::int32_t longest_possible_hit(const CacheRules& rules, std::int32_t num_common,
                                  std::int32_t num_tokens) {
  if (!rules.caching) return 0;
  const std::int32_t servable = std::max(std::min(num_common, num_tokens - 1), 0);
  const std::int32_t attention = round_down(std::max(servable - rules.eagle_block, 0), rules.grid);
  if (rules.state_lookahead == 0) return attention;
  return round_down(std::min(attention + rules.state_lookahead, servable), rules.grid);
}

std::optional<std::int32_t> smallest_cacheable_prefix(const CacheRules& rules) {
  if (!rules.caching) return std::nullopt;
  for (const std::int32_t num_common : {rules.grid, rules.grid + rules.eagle_block})
    if (longest_possible_hit(rules, num_common, num_common + 1) > 0) return num_common;
  return std::nullopt;
}

}  // namespace hybridscope
