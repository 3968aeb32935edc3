#include "core/caching/block_key_map.h"

#include <bit>
#include <utility>

#include "core/base/check.h"

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

}  // namespace hybridscope
