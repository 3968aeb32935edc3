#include "sessions/cache_report/lookup_report.h"

#include <algorithm>

#include "core/base/math.h"
#include "core/caching/hybrid_coordinator.h"
#include "core/caching/hybrid_coordinator_policies.h"
#include "core/engine/scheduler_setup.h"

namespace hybridscope {
namespace {

struct ReasonNames {
  std::string_view slug;
  std::string_view name;
};

constexpr std::array<ReasonNames, kNumMissReasons> kNames = {{
    {"caching_off", "caching off"},
    {"last_token", "last token"},
    {"block_granularity", "block granularity"},
    {"eagle_drop", "eagle drop"},
    {"not_computed", "not yet computed"},
    {"state_missing", "state missing"},
    {"evicted", "evicted"},
}};

}  // namespace

BlockHistory::BlockHistory(std::int32_t num_blocks)
    : labels_(static_cast<std::size_t>(num_blocks)) {}

void BlockHistory::registered(const CacheEvent& event, std::int64_t step) {
  const BlockKey key{.block_hash = event.block_hash, .group = event.group};
  labels_[static_cast<std::size_t>(event.block)].push_back({key, event.num_tokens});
  Registration& registration = registrations_[key];
  if (registration.first_step == 0) registration.first_step = step;
  ++registration.num_blocks;
}

// Without a content ever written, a prefix first registered in this step was never cached.
void BlockHistory::forget(const Label& label, std::int64_t first_step) {
  Registration& registration = registrations_[label.key];
  if (--registration.num_blocks == 0 && registration.first_step == first_step)
    registration.first_step = 0;
}

// Forgets all keys of the block, or the one of the event's prefix.
void BlockHistory::withdrawn(const CacheEvent& event, std::int64_t step) {
  std::vector<Label>& labels = labels_[static_cast<std::size_t>(event.block)];
  for (const Label& label : labels)
    if (event.num_tokens == 0 || label.num_tokens == event.num_tokens) forget(label, step);
  if (event.num_tokens == 0)
    labels.clear();
  else
    std::erase_if(labels, [&](const Label& label) { return label.num_tokens == event.num_tokens; });
}

void BlockHistory::evicted(const CacheEvent& event, const Eviction& how) {
  std::vector<Label>& labels = labels_[static_cast<std::size_t>(event.block)];
  for (const Label& label : labels) {
    if (registrations_[label.key].first_step == how.step) {
      forget(label, how.step);
      continue;
    }
    --registrations_[label.key].num_blocks;
    Eviction& eviction = evictions_[label.key];
    eviction = how;
    eviction.group = label.key.group;
    eviction.block = event.block;
    eviction.num_tokens = label.num_tokens;
  }
  labels.clear();
}

bool BlockHistory::is_there(const BlockKey& key) const {
  const auto found = registrations_.find(key);
  return found != registrations_.end() && found->second.num_blocks > 0;
}

bool BlockHistory::was_there(const BlockKey& key, std::int64_t step) const {
  const auto found = registrations_.find(key);
  return found != registrations_.end() && found->second.first_step > 0 &&
         found->second.first_step < step;
}

Eviction BlockHistory::last_eviction(const BlockKey& key) const {
  const auto found = evictions_.find(key);
  return found == evictions_.end() ? Eviction{} : found->second;
}

std::string_view miss_reason_slug(MissReason reason) {
  return kNames[static_cast<std::size_t>(reason)].slug;
}

std::string_view miss_reason_name(MissReason reason) {
  return kNames[static_cast<std::size_t>(reason)].name;
}

void CacheTotals::add(const LookupReport& report) {
  ++lookups;
  resumed += report.admission == Admission::resumed ? 1 : 0;
  tokens += report.num_tokens;
  common_tokens += report.common.num_tokens;
  hit_tokens += report.num_hit_tokens;
  lookups_with_common_tokens += report.common.num_tokens > 0 ? 1 : 0;
  lookups_with_hit += report.num_hit_tokens > 0 ? 1 : 0;
  for (std::size_t reason = 0; reason < kNumMissReasons; ++reason)
    lost[reason] += report.lost[reason];
}

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
