// What cache events did to the hashes of blocks, as one difference between two times: a hash that
// was registered and lost in between is not in it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/caching/cache_events.h"

namespace hybridscope {

// First everything in `lost` happened, then everything in `registered`.
struct HashDifference {
  // Events evicted (the block lost all hashes) and withdrawn (the one of event.num_tokens).
  std::vector<CacheEvent> lost;
  std::vector<CacheEvent> registered;  // in the order in which it happened
};

class HashChanges {
 public:
  // Follows events, in order. Requires: they follow those of the call before.
  void apply(std::span<const CacheEvent> events);

  // The difference since the last call. `all_lost`: the reader knows already that every hash that
  // there was is lost (a reset), so only registrations are named.
  HashDifference take(bool all_lost);

 private:
  // A hash of a block, and its place in the order of registrations.
  struct Hash {
    CacheEvent event;
    std::int64_t number = 0;
  };
  using Hashes = std::vector<Hash>;  // of a block, in order of registration

  void add_lost(std::int32_t block, const Hashes& before, const Hashes& now, Hashes& registered,
                std::vector<CacheEvent>& lost) const;

  std::map<std::int32_t, Hashes> hashes_;  // [block]
  std::map<std::int32_t, Hashes> before_;  // [block] of those that changed since the last take
  std::int64_t num_registered_ = 0;
};

}  // namespace hybridscope
