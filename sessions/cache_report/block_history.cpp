#include "sessions/cache_report/block_history.h"

namespace hybridscope {

BlockHistory::BlockHistory(std::int32_t num_blocks)
    : labels_(static_cast<std::size_t>(num_blocks)) {}

void BlockHistory::registered(const CacheEvent& event, std::int64_t step) {
  const BlockKey key{.block_hash = event.block_hash, .group = event.group};
  labels_[static_cast<std::size_t>(event.block)] = {key, event.num_tokens};
  Registration& registration = registrations_[key];
  if (registration.first_step == 0) registration.first_step = step;
  ++registration.num_blocks;
}

// The content never came: what was first planned in this step has not been there at all.
void BlockHistory::withdrawn(const CacheEvent& event, std::int64_t step) {
  Label& label = labels_[static_cast<std::size_t>(event.block)];
  Registration& registration = registrations_[label.key];
  if (--registration.num_blocks == 0 && registration.first_step == step)
    registration.first_step = 0;
  label = {};
}

void BlockHistory::evicted(const CacheEvent& event, const Eviction& how) {
  Label& label = labels_[static_cast<std::size_t>(event.block)];
  --registrations_[label.key].num_blocks;
  Eviction& eviction = evictions_[label.key];
  eviction = how;
  eviction.group = label.key.group;
  eviction.block = event.block;
  eviction.num_tokens = label.num_tokens;
  label = {};
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

}  // namespace hybridscope
