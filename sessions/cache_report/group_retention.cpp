#include "sessions/cache_report/group_retention.h"

#include <algorithm>

#include "core/caching/hybrid_coordinator.h"
#include "core/caching/retention_policies.h"
#include "core/engine/scheduler_setup.h"

namespace hybridscope {

std::optional<GroupRetention> group_retention(const EngineConfig& config) {
  const auto& groups = config.kv_cache_config.groups;
  const auto mamba = std::ranges::find_if(groups, &KVCacheGroup::is_mamba);
  const KVCacheManagerConfig cache = kv_cache_manager_config(config);
  if (!cache.enable_caching || mamba == groups.end()) return std::nullopt;
  const auto coordinator =
      HybridCoordinator::create({.groups = groups,
                                 .enable_caching = cache.enable_caching,
                                 .use_eagle = cache.use_eagle,
                                 .scheduler_block_size = cache.scheduler_block_size,
                                 .hash_block_size = cache.hash_block_size,
                                 .policies = cache.policies});
  if (!coordinator.ok()) return std::nullopt;
  const auto group = static_cast<std::int32_t>(mamba - groups.begin());
  return GroupRetention{.group = group,
                        .block_size = mamba->block_size(),
                        .drops_eagle_block = coordinator.value().is_eagle_group(group),
                        .rule = {.interval = cache.retention_interval,
                                 .boundaries = cache.policies.get<ReachableBoundaries>(),
                                 .scheduler_block_size = cache.scheduler_block_size,
                                 .hit_alignment = coordinator.value().hit_alignment(),
                                 .eagle_block_drop = coordinator.value().any_eagle_group()}};
}

std::int32_t junction_of(const AdmissionLookup& lookup) {
  const std::int32_t longest = lookup.explanation.longest_hit_length;
  return longest > lookup.num_hit_tokens ? longest : 0;
}

}  // namespace hybridscope
