// (hash, group) -> the blocks registered under it, in order of insertion
// (semantics: block-hash-map). Each block is in the map at most once. The constructor allocates all
// memory.
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

class BlockKeyMap {
 public:
  // For blocks 1 .. num_blocks-1.
  explicit BlockKeyMap(std::int32_t num_blocks);

  // The earliest inserted block under `key` that is still there; kNullBlock when there is none.
  std::int32_t find(BlockKey key) const;

  // Requires: the block is not in the map.
  void insert(BlockKey key, std::int32_t block);

  // Requires: the block is in the map under `key`.
  void erase(BlockKey key, std::int32_t block);

  void clear();

  // Number of distinct keys.
  std::int32_t size() const { return size_; }

 private:
  struct Entry {
    BlockKey key;
    std::int32_t first = kNullBlock;  // kNullBlock: the entry is free
    std::int32_t last = kNullBlock;
  };
  struct Links {
    std::int32_t previous = kNullBlock;
    std::int32_t next = kNullBlock;
  };

  std::size_t home(BlockKey key) const;
  std::size_t locate(BlockKey key) const;  // entry of the key, or the free entry it would take
  void close_gap(std::size_t gap);

  std::vector<Entry> entries_;  // [power of two >= 2 * num_blocks], linear probing
  std::vector<Links> links_;    // [num_blocks], blocks of one key
  std::int32_t size_ = 0;
};

}  // namespace hybridscope
