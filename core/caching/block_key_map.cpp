#include "core/caching/block_key_map.h"

#include <bit>

#include "core/base/check.h"

namespace hybridscope {

BlockKeyMap::BlockKeyMap(std::int32_t num_blocks)
    : entries_(std::bit_ceil(static_cast<std::size_t>(num_blocks) * 2)),
      links_(static_cast<std::size_t>(num_blocks)) {}

std::size_t BlockKeyMap::home(BlockKey key) const {
  return mix(key.block_hash, static_cast<std::uint64_t>(key.group)) & (entries_.size() - 1);
}

std::size_t BlockKeyMap::locate(BlockKey key) const {
  std::size_t i = home(key);
  while (entries_[i].first != kNullBlock && entries_[i].key != key)
    i = (i + 1) & (entries_.size() - 1);
  return i;
}

std::int32_t BlockKeyMap::find(BlockKey key) const { return entries_[locate(key)].first; }

void BlockKeyMap::insert(BlockKey key, std::int32_t block) {
  Entry& entry = entries_[locate(key)];
  Links& links = links_[static_cast<std::size_t>(block)];
  links = {.previous = entry.last, .next = kNullBlock};
  if (entry.first == kNullBlock) {
    entry.key = key;
    entry.first = block;
    ++size_;
  } else {
    links_[static_cast<std::size_t>(entry.last)].next = block;
  }
  entry.last = block;
}

void BlockKeyMap::erase(BlockKey key, std::int32_t block) {
  const std::size_t i = locate(key);
  Entry& entry = entries_[i];
  HS_EXPECT(entry.first != kNullBlock);
  const Links links = links_[static_cast<std::size_t>(block)];
  if (links.previous == kNullBlock) {
    HS_EXPECT(entry.first == block);
    entry.first = links.next;
  } else {
    links_[static_cast<std::size_t>(links.previous)].next = links.next;
  }
  if (links.next == kNullBlock)
    entry.last = links.previous;
  else
    links_[static_cast<std::size_t>(links.next)].previous = links.previous;
  if (entry.first != kNullBlock) return;
  --size_;
  close_gap(i);
}

// Moves later entries of the probe sequence back, so that a search never stops at the gap too
// early.
void BlockKeyMap::close_gap(std::size_t gap) {
  const std::size_t mask = entries_.size() - 1;
  for (std::size_t i = (gap + 1) & mask; entries_[i].first != kNullBlock; i = (i + 1) & mask) {
    const std::size_t distance_from_home = (i - home(entries_[i].key)) & mask;
    if (distance_from_home < ((i - gap) & mask)) continue;
    entries_[gap] = entries_[i];
    gap = i;
  }
  entries_[gap] = {};
}

void BlockKeyMap::clear() {
  entries_.assign(entries_.size(), Entry{});
  size_ = 0;
}

}  // namespace hybridscope
