// (hash, group) -> the key slots registered under it, in order of insertion
// (semantics: block-hash-map). Each slot is in the map at most once.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/base/ids.h"

namespace hybridscope {

// What a block is registered under: the hash of the prefix it ends, and the KV-cache group.
struct BlockKey {
  Fingerprint block_hash = 0;  // never 0 for a registered block
  std::int32_t group = -1;
  friend bool operator==(const BlockKey&, const BlockKey&) = default;
};

// A place for one key of a block: BlockPool says which block it belongs to.
inline constexpr std::int32_t kNoKeySlot = 0;

class BlockKeyMap {
 public:
  // For slots 1 .. num_slots-1; larger ones make it grow.
  explicit BlockKeyMap(std::int32_t num_slots);

  // The earliest inserted slot under `key` that is still there; kNoKeySlot when there is none.
  std::int32_t find(BlockKey key) const;

  // Requires: the slot is not in the map.
  void insert(BlockKey key, std::int32_t slot);

  // Requires: the slot is in the map under `key`.
  void erase(BlockKey key, std::int32_t slot);

  // Number of distinct keys.
  std::int32_t size() const { return size_; }

 private:
  struct Entry {
    BlockKey key;
    std::int32_t first = kNoKeySlot;  // kNoKeySlot: the entry is free
    std::int32_t last = kNoKeySlot;
  };
  struct Links {
    std::int32_t previous = kNoKeySlot;
    std::int32_t next = kNoKeySlot;
  };

  std::size_t home(BlockKey key) const;
  std::size_t locate(BlockKey key) const;  // entry of the key, or the free entry it would take
  void close_gap(std::size_t gap);
  void make_room(std::int32_t slot);

  std::vector<Entry> entries_;  // [power of two >= 2 * slots], linear probing
  std::vector<Links> links_;    // [slots], slots of one key
  std::int32_t size_ = 0;
};

}  // namespace hybridscope
