#include "core/caching/block_pool.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/base/result.h"
#include "core/caching/block_pool_policies.h"

namespace hybridscope {

BlockKeyMap::BlockKeyMap(std::int32_t num_slots)
    : entries_(std::bit_ceil(static_cast<std::size_t>(num_slots) * 2)),
      links_(static_cast<std::size_t>(num_slots)) {}

void BlockKeyMap::make_room(std::int32_t slot) {
  const auto needed = static_cast<std::size_t>(slot) + 1;
  if (needed <= links_.size()) return;
  links_.resize(needed);
  if (needed * 2 <= entries_.size()) return;
  const std::vector<Entry> before = std::move(entries_);
  entries_.assign(before.size() * 2, Entry{});
  for (const Entry& entry : before)
    if (entry.first != kNoKeySlot) entries_[locate(entry.key)] = entry;
}

std::size_t BlockKeyMap::home(BlockKey key) const {
  return mix(key.block_hash, static_cast<std::uint64_t>(key.group)) & (entries_.size() - 1);
}

std::size_t BlockKeyMap::locate(BlockKey key) const {
  std::size_t i = home(key);
  while (entries_[i].first != kNoKeySlot && entries_[i].key != key)
    i = (i + 1) & (entries_.size() - 1);
  return i;
}

std::int32_t BlockKeyMap::find(BlockKey key) const { return entries_[locate(key)].first; }

void BlockKeyMap::insert(BlockKey key, std::int32_t slot) {
  make_room(slot);
  Entry& entry = entries_[locate(key)];
  Links& links = links_[static_cast<std::size_t>(slot)];
  links = {.previous = entry.last, .next = kNoKeySlot};
  if (entry.first == kNoKeySlot) {
    entry.key = key;
    entry.first = slot;
    ++size_;
  } else {
    links_[static_cast<std::size_t>(entry.last)].next = slot;
  }
  entry.last = slot;
}

void BlockKeyMap::erase(BlockKey key, std::int32_t slot) {
  const std::size_t i = locate(key);
  Entry& entry = entries_[i];
  HS_EXPECT(entry.first != kNoKeySlot);
  const Links links = links_[static_cast<std::size_t>(slot)];
  if (links.previous == kNoKeySlot) {
    HS_EXPECT(entry.first == slot);
    entry.first = links.next;
  } else {
    links_[static_cast<std::size_t>(links.previous)].next = links.next;
  }
  if (links.next == kNoKeySlot)
    entry.last = links.previous;
  else
    links_[static_cast<std::size_t>(links.next)].previous = links.previous;
  if (entry.first != kNoKeySlot) return;
  --size_;
  close_gap(i);
}

// Moves later entries of the probe sequence back, so that a search never stops at the gap too
// early.
void BlockKeyMap::close_gap(std::size_t gap) {
  const std::size_t mask = entries_.size() - 1;
  for (std::size_t i = (gap + 1) & mask; entries_[i].first != kNoKeySlot; i = (i + 1) & mask) {
    const std::size_t distance_from_home = (i - home(entries_[i].key)) & mask;
    if (distance_from_home < ((i - gap) & mask)) continue;
    entries_[gap] = entries_[i];
    gap = i;
  }
  entries_[gap] = {};
}

BlockPool::BlockPool(const Config& config, CacheEventLog* log)
    : blocks_(static_cast<std::size_t>(config.num_blocks) + 1),
      keys_(config.num_blocks),
      num_free_blocks_(config.num_blocks - 1),
      keyless_blocks_to_back_(config.keyless_blocks_to_back),
      policies_(config.policies),
      log_(log) {
  // A circle: sentinel (the element after the last block), 1, 2, ..., num_blocks - 1.
  const std::int32_t sentinel = config.num_blocks;
  at(sentinel).previous = sentinel;
  at(sentinel).next = sentinel;
  for (std::int32_t block = 1; block < config.num_blocks; ++block)
    link_after(block, at(sentinel).previous);
}

BlockRegistration BlockPool::block_registration() const {
  return policies_.get<BlockRegistration>();
}

std::vector<std::int32_t> BlockPool::free_queue() const {
  std::vector<std::int32_t> queue;
  queue.reserve(static_cast<std::size_t>(num_free_blocks_));
  const std::int32_t sentinel = num_blocks();
  for (std::int32_t block = at(sentinel).next; block != sentinel; block = at(block).next)
    queue.push_back(block);
  return queue;
}

void BlockPool::unlink(std::int32_t block) {
  const Block& unlinked = at(block);
  at(unlinked.previous).next = unlinked.next;
  at(unlinked.next).previous = unlinked.previous;
}

void BlockPool::link_after(std::int32_t block, std::int32_t position) {
  const std::int32_t next = at(position).next;
  at(block).previous = position;
  at(block).next = next;
  at(position).next = block;
  at(next).previous = block;
}

bool BlockPool::has_key(std::int32_t block, BlockKey key) const {
  if (at(block).key == key) return true;
  for (std::int32_t slot = at(block).more_keys; slot != kNoKeySlot; slot = extra(slot).next)
    if (extra(slot).key == key) return true;
  return false;
}

void BlockPool::add_key(std::int32_t block, BlockKey key, std::int32_t num_tokens, bool planned) {
  Block& keyed = at(block);
  if (keyed.key.block_hash != 0) {
    add_extra_key({.key = key, .num_tokens = num_tokens, .block = block, .planned = planned});
    return;
  }
  keyed.key = key;
  keyed.num_tokens = num_tokens;
  keyed.first_key_planned = planned;
  keys_.insert(key, block);
}

void BlockPool::add_extra_key(const ExtraKey& key) {
  std::int32_t slot = free_extra_key_;
  if (slot == kNoKeySlot) {
    slot = num_blocks() + static_cast<std::int32_t>(extra_keys_.size());
    extra_keys_.emplace_back();
  } else {
    free_extra_key_ = extra(slot).next;
  }
  extra(slot) = key;
  Block& keyed = at(key.block);
  extra(slot).next = keyed.more_keys;
  keyed.more_keys = slot;
  keys_.insert(key.key, slot);
}

void BlockPool::forget_keys(std::int32_t block) {
  Block& keyed = at(block);
  keys_.erase(keyed.key, block);
  for (std::int32_t slot = keyed.more_keys; slot != kNoKeySlot;) {
    const std::int32_t next = extra(slot).next;
    forget_extra_key(slot);
    slot = next;
  }
  keyed.key = {};
  keyed.num_tokens = 0;
  keyed.first_key_planned = false;
  keyed.more_keys = kNoKeySlot;
}

void BlockPool::forget_extra_key(std::int32_t slot) {
  keys_.erase(extra(slot).key, slot);
  extra(slot) = {};
  extra(slot).next = free_extra_key_;
  free_extra_key_ = slot;
}

// Takes back what was planned in this step; keys of steps before stay.
void BlockPool::withdraw_keys(std::int32_t block) {
  Block& keyed = at(block);
  if (keyed.first_key_planned) return drop_keys(block, CacheEventKind::withdrawn);
  for (std::int32_t* link = &keyed.more_keys; *link != kNoKeySlot;) {
    const std::int32_t slot = *link;
    const ExtraKey key = extra(slot);
    if (!key.planned) {
      link = &extra(slot).next;
      continue;
    }
    record({.kind = CacheEventKind::withdrawn,
            .group = key.key.group,
            .request = keyed.planned_by,
            .block = block,
            .num_tokens = key.num_tokens});
    *link = key.next;
    forget_extra_key(slot);
  }
  keyed.planned_by = {};
  --num_planned_;
}

void BlockPool::drop_keys(std::int32_t block, CacheEventKind why) {
  Block& keyed = at(block);
  record({.kind = why, .group = keyed.key.group, .request = keyed.planned_by, .block = block});
  forget_keys(block);
  if (keyed.planned_by == RequestId{}) return;
  keyed.planned_by = {};
  --num_planned_;
}

std::int32_t BlockPool::get_new_block(BlockOwner owner) {
  HS_EXPECT(num_free_blocks_ > 0);
  const std::int32_t block = at(num_blocks()).next;
  unlink(block);
  --num_free_blocks_;
  if (at(block).key.block_hash != 0) drop_keys(block, CacheEventKind::evicted);
  at(block).ref_cnt = 1;
  record({.kind = CacheEventKind::allocated,
          .group = owner.group,
          .request = owner.request,
          .block = block,
          .ref_cnt = 1});
  return block;
}

void BlockPool::touch(std::int32_t block, BlockOwner owner) {
  if (block == kNullBlock) return;
  Block& touched = at(block);
  if (touched.ref_cnt == 0) {
    unlink(block);
    --num_free_blocks_;
  }
  ++touched.ref_cnt;
  record({.kind = CacheEventKind::touched,
          .group = owner.group,
          .request = owner.request,
          .block = block,
          .ref_cnt = touched.ref_cnt});
}

void BlockPool::free_blocks(std::span<const std::int32_t> blocks, BlockOwner owner) {
  const std::int32_t sentinel = num_blocks();
  std::int32_t front = sentinel;  // the block that was put at the front last
  for (const std::int32_t block : blocks) {
    if (block == kNullBlock) continue;
    Block& freed = at(block);
    HS_EXPECT(freed.ref_cnt > 0);
    --freed.ref_cnt;
    record({.kind = CacheEventKind::freed,
            .group = owner.group,
            .request = owner.request,
            .block = block,
            .ref_cnt = freed.ref_cnt});
    if (freed.ref_cnt > 0) continue;
    if (freed.planned_by != RequestId{}) withdraw_keys(block);
    ++num_free_blocks_;
    if (freed.key.block_hash == 0 && !keyless_blocks_to_back_) {
      link_after(block, front);
      front = block;
    } else {
      link_after(block, at(sentinel).previous);
    }
  }
}

void BlockPool::cache_full_block(const BlockRegistrationArgs& args) {
  if (args.block == kNullBlock) return;
  const BlockKey key{.block_hash = args.block_hash, .group = args.owner.group};
  if (at(args.block).key == key) return;
  if (at(args.block).key.block_hash != 0) {
    HS_EXPECT(at(args.block).num_tokens < args.num_tokens);
    drop_keys(args.block, CacheEventKind::evicted);
  }
  register_block(args);
}

void BlockPool::cache_partial_block(const BlockRegistrationArgs& args, bool replaces_keys) {
  if (args.block == kNullBlock) return;
  const Block& block = at(args.block);
  const bool keyed = block.key.block_hash != 0;
  if (replaces_keys) {
    if (keyed) drop_keys(args.block, CacheEventKind::evicted);
  } else if (has_key(args.block, {.block_hash = args.block_hash, .group = args.owner.group})) {
    return;
  } else if (keyed && block.num_tokens < args.num_tokens) {
    drop_keys(args.block, CacheEventKind::evicted);
  }
  register_block(args);
}

void BlockPool::register_block(const BlockRegistrationArgs& args) {
  const bool planned = policies_.is(BlockRegistration::planned_then_published);
  add_key(args.block, {.block_hash = args.block_hash, .group = args.owner.group}, args.num_tokens,
          planned);
  Block& block = at(args.block);
  if (planned) {
    HS_EXPECT(args.owner.request != RequestId{});
    if (block.planned_by == RequestId{}) {
      planned_.push_back(args.block);
      ++num_planned_;
    }
    block.planned_by = args.owner.request;
  }
  record({.kind = CacheEventKind::registered,
          .group = args.owner.group,
          .request = args.owner.request,
          .column = args.column,
          .block = args.block,
          .ref_cnt = block.ref_cnt,
          .num_tokens = args.num_tokens,
          .block_hash = args.block_hash});
}

void BlockPool::move_keys(std::int32_t source, std::int32_t destination, BlockOwner owner) {
  const Block moved = at(source);
  HS_EXPECT(at(destination).key.block_hash == 0);
  if (moved.key.block_hash == 0) return;
  std::vector<ExtraKey> keys = {{.key = moved.key,
                                 .num_tokens = moved.num_tokens,
                                 .block = destination,
                                 .planned = moved.first_key_planned}};
  for (std::int32_t slot = moved.more_keys; slot != kNoKeySlot; slot = extra(slot).next)
    keys.push_back(extra(slot));
  record({.kind = CacheEventKind::evicted,
          .group = moved.key.group,
          .request = moved.planned_by,
          .block = source});
  forget_keys(source);
  for (const ExtraKey& key : keys) {
    add_key(destination, key.key, key.num_tokens, key.planned);
    record({.kind = CacheEventKind::registered,
            .group = owner.group,
            .request = owner.request,
            .block = destination,
            .ref_cnt = at(destination).ref_cnt,
            .num_tokens = key.num_tokens,
            .block_hash = key.key.block_hash});
  }
  if (moved.planned_by == RequestId{}) return;
  at(destination).planned_by = std::exchange(at(source).planned_by, RequestId{});
  std::ranges::replace(planned_, source, destination);
}

void BlockPool::evict_blocks(std::span<const std::int32_t> blocks) {
  for (const std::int32_t block : blocks)
    if (at(block).key.block_hash != 0) drop_keys(block, CacheEventKind::evicted);
}

bool BlockPool::reset_prefix_cache() {
  if (num_free_blocks_ != num_blocks() - 1) return false;
  for (std::int32_t block = 1; block < num_blocks(); ++block)
    if (at(block).key.block_hash != 0) drop_keys(block, CacheEventKind::evicted);
  return true;
}

void BlockPool::publish() {
  for (const std::int32_t planned : planned_) {
    Block& block = at(planned);
    block.planned_by = {};
    block.first_key_planned = false;
    for (std::int32_t slot = block.more_keys; slot != kNoKeySlot; slot = extra(slot).next)
      extra(slot).planned = false;
  }
  planned_.clear();
  num_planned_ = 0;
}

void BlockPool::withdraw(RequestId request) {
  for (const std::int32_t block : planned_)
    if (at(block).planned_by == request) withdraw_keys(block);
}

}  // namespace hybridscope
