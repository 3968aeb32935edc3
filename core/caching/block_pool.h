// All blocks of a KV cache: how many tables hold each, in which order free ones are given out, and
// under which hash a block can be found (semantics: block-pool). Shared by all groups; has no block
// tables.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/base/ids.h"
#include "core/base/policy_set.h"
#include "core/caching/cache_events.h"

namespace hybridscope {

// (hash, group) -> the key slots registered under it, in order of insertion
// (semantics: block-hash-map). Each slot is in the map at most once.

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

enum class BlockRegistration : std::uint8_t;  // block_pool_policies.h

// The request and group that a call is made for; used for events and planned registrations only.
struct BlockOwner {
  RequestId request = {};
  std::int32_t group = -1;
};

// A block and the prefix it stands for.
struct BlockRegistrationArgs {
  std::int32_t block = kNullBlock;
  BlockOwner owner = {};
  std::int32_t column = 0;      // index in the owner's block list
  std::int32_t num_tokens = 0;  // tokens of the prefix
  Fingerprint block_hash = 0;   // of the prefix
};

// Invariants: a block is in the free queue iff its reference count is 0 (null block: never); a
// block has one key, or with hits inside blocks several, of which the first counts as its own
// (semantics: hits-inside-blocks); a planned block has a key and a reference; the null block has
// neither.
class BlockPool {
 public:
  struct Config {
    std::int32_t num_blocks = 1;  // the null block included, positive
    FixedPolicies policies = {};
    bool keyless_blocks_to_back = false;  // of the free queue, when they are freed
  };
  // Blocks 1, 2, ..., num_blocks-1 are free, in that order. `log` may be null.
  BlockPool(const Config& config, CacheEventLog* log);

  std::int32_t num_blocks() const { return static_cast<std::int32_t>(blocks_.size()) - 1; }
  std::int32_t num_free_blocks() const { return num_free_blocks_; }
  std::int32_t num_cached_hashes() const { return keys_.size(); }
  std::int32_t num_planned_blocks() const { return num_planned_; }
  BlockRegistration block_registration() const;
  std::vector<std::int32_t> free_queue() const;  // head (next allocated) first

  // Requires for all with a block: 0 <= block < num_blocks().
  std::int32_t ref_cnt(std::int32_t block) const { return at(block).ref_cnt; }
  // The block's first key; without one: block_hash 0.
  BlockKey key(std::int32_t block) const { return at(block).key; }
  // Tokens of the prefix that the first key stands for; 0 without a key.
  std::int32_t key_tokens(std::int32_t block) const { return at(block).num_tokens; }
  // The request that registered the block in this step and has not written it yet; invalid: none.
  RequestId planned_by(std::int32_t block) const { return at(block).planned_by; }

  // get_cached_block for one group: the earliest registered block, kNullBlock on a miss.
  std::int32_t get_cached_block(BlockKey key) const { return block_of(keys_.find(key)); }

  // get_new_blocks(1): the head of the queue, with one reference, without hash.
  // Requires: num_free_blocks() > 0.
  std::int32_t get_new_block(BlockOwner owner);

  // One more reference; the null block is left alone.
  void touch(std::int32_t block, BlockOwner owner);

  // Drops one reference of each, in order. Blocks left without a reference: those without hash go
  // to the front of the queue (first in list = new head), those with hash to its back. With its
  // last reference a block also loses a registration that is only planned: its content will never
  // be written.
  void free_blocks(std::span<const std::int32_t> blocks, BlockOwner owner);

  // cache_full_blocks for one block: registers it under (block_hash, group). No effect on the null
  // block or on a block that has this key; other keys, of shorter prefixes, are replaced.
  void cache_full_block(const BlockRegistrationArgs& args);

  // cache_partial_block: the block can be found under this prefix too, which may end inside it. Its
  // keys of shorter prefixes are replaced; with `replaces_keys` all are. No effect on the null
  // block.
  void cache_partial_block(const BlockRegistrationArgs& args, bool replaces_keys);

  // move_block_hashes: block `destination`, which has no key, gets those of `source`.
  void move_keys(std::int32_t source, std::int32_t destination, BlockOwner owner);

  // The blocks lose their hashes; references and queue order stay.
  void evict_blocks(std::span<const std::int32_t> blocks);

  // Drops all hashes if nothing but the null block is in use; returns whether it did.
  bool reset_prefix_cache();

  // For BlockRegistration::planned_then_published; no effect otherwise. publish: every planned
  // registration becomes usable. withdraw: those of `request` are dropped, they will never be
  // written.
  void publish();
  void withdraw(RequestId request);

  // Null: record nothing. A copy of a pool keeps writing to the same log until this is called on
  // it.
  void set_event_log(CacheEventLog* log) { log_ = log; }
  void record(const CacheEvent& event) {
    if (log_ != nullptr) log_->push_back(event);
  }

 private:
  struct Block {
    BlockKey key;
    std::int32_t ref_cnt = 0;
    std::int32_t num_tokens = 0;  // of the key's prefix
    std::int32_t previous = 0;    // free queue; the element after the last block is its sentinel
    std::int32_t next = 0;
    std::int32_t more_keys = kNoKeySlot;  // the slot of the second key
    RequestId planned_by;                 // some key
    bool first_key_planned = false;
  };
  // A key of a block besides its first. Slot num_blocks() + i of keys_ is element i.
  struct ExtraKey {
    BlockKey key;
    std::int32_t num_tokens = 0;
    std::int32_t block = kNullBlock;  // kNullBlock: the slot is free
    std::int32_t next = kNoKeySlot;   // the block's next key, or the next free slot
    bool planned = false;
  };

  Block& at(std::int32_t block) { return blocks_[static_cast<std::size_t>(block)]; }
  const Block& at(std::int32_t block) const { return blocks_[static_cast<std::size_t>(block)]; }
  void unlink(std::int32_t block);
  void link_after(std::int32_t block, std::int32_t position);
  std::int32_t block_of(std::int32_t slot) const {
    return slot < num_blocks() ? slot : extra(slot).block;
  }
  ExtraKey& extra(std::int32_t slot) {
    return extra_keys_[static_cast<std::size_t>(slot - num_blocks())];
  }
  const ExtraKey& extra(std::int32_t slot) const {
    return extra_keys_[static_cast<std::size_t>(slot - num_blocks())];
  }
  bool has_key(std::int32_t block, BlockKey key) const;
  void add_key(std::int32_t block, BlockKey key, std::int32_t num_tokens, bool planned);
  void add_extra_key(const ExtraKey& key);
  void drop_keys(std::int32_t block, CacheEventKind why);
  void forget_keys(std::int32_t block);
  void forget_extra_key(std::int32_t slot);
  void withdraw_keys(std::int32_t block);
  void register_block(const BlockRegistrationArgs& args);

  std::vector<Block> blocks_;  // [num_blocks + 1]
  BlockKeyMap keys_;
  std::vector<ExtraKey> extra_keys_;
  std::int32_t free_extra_key_ = kNoKeySlot;
  std::vector<std::int32_t> planned_;  // planned since the last publish, some withdrawn since
  std::int32_t num_planned_ = 0;
  std::int32_t num_free_blocks_ = 0;
  bool keyless_blocks_to_back_ = false;
  FixedPolicies policies_;
  CacheEventLog* log_ = nullptr;
};

}  // namespace hybridscope
