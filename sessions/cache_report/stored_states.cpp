#include "sessions/cache_report/stored_states.h"

#include <algorithm>

#include "core/caching/hybrid_coordinator.h"
#include "core/caching/retention_policies.h"
#include "core/engine/scheduler_setup.h"

namespace hybridscope {

StoredStates::StoredStates(const EngineConfig& config) {
  const std::optional<GroupRetention> retention = group_retention(config);
  if (!retention || !retention->rule.interval) return;
  group_ = retention->group;
  block_size_ = retention->block_size;
  drops_eagle_block_ = retention->drops_eagle_block;
  rule_ = retention->rule;
}

StoredStates::Request& StoredStates::at(RequestId request) {
  const auto index = static_cast<std::size_t>(request.value);
  if (index >= requests_.size()) requests_.resize(index + 1);
  return requests_[index];
}

// A block that is full holds the state at its end.
void StoredStates::reach(Request& request, std::int32_t num_tokens,
                         std::int32_t checkpoint_column) {
  for (std::int32_t column = request.num_computed / block_size_;
       (column + 1) * block_size_ <= num_tokens; ++column)
    if (column != checkpoint_column && static_cast<std::size_t>(column) < request.blocks.size() &&
        request.blocks[static_cast<std::size_t>(column)] != kNullBlock)
      request.stored.push_back({.num_tokens = (column + 1) * block_size_});
  request.num_computed = std::max(request.num_computed, num_tokens);
}

// Accepted drafts count once the next step says so; until then the columns are as they were.
void StoredStates::step_begins(const StepTrace& trace) {
  if (!active()) return;
  for (const ScheduledTrace& scheduled : trace.scheduled)
    if (scheduled.admission == Admission::running)
      reach(at(scheduled.request), scheduled.num_computed_tokens);
}

void StoredStates::take(const CacheEvent& event) {
  if (event.group != group_ || !active()) return;
  if (event.kind == CacheEventKind::table_dropped) {
    at(event.request).blocks.clear();
  } else if (event.kind == CacheEventKind::column_set) {
    std::vector<std::int32_t>& blocks = at(event.request).blocks;
    const auto column = static_cast<std::size_t>(event.column);
    if (column >= blocks.size()) blocks.resize(column + 1, kNullBlock);
    blocks[column] = event.block;
  }
}

void StoredStates::step_ends(const StepTrace& trace) {
  if (!active()) return;
  for (const AdmissionLookup& lookup : trace.lookups)
    at(lookup.request).prompt.shared_prefix_boundary = junction_of(lookup);
  for (const ScheduledTrace& scheduled : trace.scheduled) {
    Request& request = at(scheduled.request);
    request.prompt.num_prompt_tokens = scheduled.num_prompt_tokens;
    if (scheduled.admission != Admission::running)
      request.num_computed = scheduled.num_computed_tokens;
    const bool checkpoint = scheduled.checkpoint_position > 0;
    if (checkpoint)
      request.stored.push_back({.num_tokens = scheduled.checkpoint_position, .checkpoint = true});
    reach(
        request,
        scheduled.num_computed_tokens + scheduled.num_scheduled_tokens - scheduled.num_draft_tokens,
        checkpoint ? scheduled.checkpoint_column : -1);
  }
}

UnkeptState StoredStates::last_unkept(RequestId request, std::int32_t first,
                                      std::int32_t last) const {
  UnkeptState found;
  const auto index = static_cast<std::size_t>(request.value);
  if (!active() || index >= requests_.size()) return found;
  for (const Stored& stored : requests_[index].stored)
    if (stored.num_tokens > std::max(first, found.num_tokens) && stored.num_tokens <= last &&
        stored.num_tokens % rule_.hit_alignment == 0) {
      found.num_tokens = stored.num_tokens;
      found.checkpoint = stored.checkpoint;
    }
  if (found.num_tokens > 0)
    found.kept = kept_boundaries(rule_, requests_[index].prompt, block_size_, drops_eagle_block_);
  return found;
}

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
