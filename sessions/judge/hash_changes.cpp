#include "sessions/judge/hash_changes.h"

#include <algorithm>

namespace hybridscope {

void HashChanges::apply(std::span<const CacheEvent> events) {
  for (const CacheEvent& event : events) {
    const bool lost =
        event.kind == CacheEventKind::evicted || event.kind == CacheEventKind::withdrawn;
    if (!lost && event.kind != CacheEventKind::registered) continue;
    Hashes& hashes = hashes_[event.block];
    before_.try_emplace(event.block, hashes);
    if (!lost)
      hashes.push_back({event, num_registered_++});
    else if (event.kind == CacheEventKind::withdrawn && event.num_tokens > 0)
      std::erase_if(hashes,
                    [&](const Hash& hash) { return hash.event.num_tokens == event.num_tokens; });
    else
      hashes.clear();
  }
}

HashDifference HashChanges::take(bool all_lost) {
  HashDifference difference;
  Hashes registered;
  for (const auto& [block, before] : before_)
    add_lost(block, all_lost ? Hashes{} : before, hashes_[block], registered, difference.lost);
  std::ranges::sort(registered, {}, &Hash::number);
  for (const Hash& hash : registered) difference.registered.push_back(hash.event);
  before_.clear();
  return difference;
}

// Each registration has its own number, so a hash that was lost and registered again is a new one.
void HashChanges::add_lost(std::int32_t block, const Hashes& before, const Hashes& now,
                           Hashes& registered, std::vector<CacheEvent>& lost) const {
  const auto has = [](const Hashes& hashes, const Hash& hash) {
    return std::ranges::find(hashes, hash.number, &Hash::number) != hashes.end();
  };
  const bool kept_any =
      std::ranges::any_of(before, [&](const Hash& hash) { return has(now, hash); });
  if (!before.empty() && !kept_any)
    lost.push_back({.kind = CacheEventKind::evicted, .request = {}, .block = block});
  for (const Hash& hash : before)
    if (kept_any && !has(now, hash))
      lost.push_back({.kind = CacheEventKind::withdrawn,
                      .request = {},
                      .block = block,
                      .num_tokens = hash.event.num_tokens});
  for (const Hash& hash : now)
    if (!has(before, hash)) registered.push_back(hash);
}

}  // namespace hybridscope
