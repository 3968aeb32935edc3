#include "sessions/cache_report/lookup_report.h"

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

}  // namespace hybridscope
