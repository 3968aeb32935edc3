// Which prefixes have been in the prefix cache, and how they left it, from cache events alone.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/base/ids.h"
#include "core/caching/block_key_map.h"
#include "core/caching/cache_events.h"

namespace hybridscope {

enum class EvictionCause : std::uint8_t {
  allocation,   // the block was given to a request
  overwritten,  // its holder registered it under a longer prefix
  reset         // reset_prefix_cache
};

// How a prefix was lost in one group.
struct Eviction {
  std::int64_t step = 0;  // 0: it was not
  RequestId by{};         // reset: invalid
  EvictionCause cause = EvictionCause::reset;
  std::int32_t group = -1;
  std::int32_t block = 0;
  std::int32_t num_tokens = 0;  // of the prefix
  friend bool operator==(const Eviction&, const Eviction&) = default;
};

class BlockHistory {
 public:
  explicit BlockHistory(std::int32_t num_blocks);

  // Events in order. The cause of an eviction is the event behind it, which the caller knows.
  void registered(const CacheEvent& event, std::int64_t step);
  void withdrawn(const CacheEvent& event, std::int64_t step);
  void evicted(const CacheEvent& event, const Eviction& how);

  // Is a block registered under it now?
  bool is_there(const BlockKey& key) const;
  // Was the prefix registered before `step`, so that a lookup of `step` could have used it?
  bool was_there(const BlockKey& key, std::int64_t step) const;
  // The last time that a block lost it; step 0: never.
  Eviction last_eviction(const BlockKey& key) const;

 private:
  struct KeyHash {
    std::size_t operator()(const BlockKey& key) const {
      return static_cast<std::size_t>(mix(key.block_hash, static_cast<std::uint64_t>(key.group)));
    }
  };
  struct Label {
    BlockKey key;
    std::int32_t num_tokens = 0;
  };

  struct Registration {
    std::int64_t first_step = 0;
    std::int32_t num_blocks = 0;  // that are registered under it now
  };

  std::unordered_map<BlockKey, Registration, KeyHash> registrations_;
  std::unordered_map<BlockKey, Eviction, KeyHash> evictions_;
  std::vector<Label> labels_;  // [num_blocks] what each block is registered as
};

}  // namespace hybridscope
