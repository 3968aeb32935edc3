#include "core/caching/block_pool.h"

#include "core/base/check.h"

namespace hybridscope {

BlockPool::BlockPool(const Config& config, CacheEventLog* log)
    : blocks_(static_cast<std::size_t>(config.num_blocks) + 1),
      keys_(config.num_blocks),
      num_free_blocks_(config.num_blocks - 1),
      block_registration_(config.block_registration),
      log_(log) {
  // A circle: sentinel (the element after the last block), 1, 2, ..., num_blocks - 1.
  const std::int32_t sentinel = config.num_blocks;
  at(sentinel).previous = sentinel;
  at(sentinel).next = sentinel;
  for (std::int32_t block = 1; block < config.num_blocks; ++block)
    link_after(block, at(sentinel).previous);
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

void BlockPool::drop_key(std::int32_t block, CacheEventKind why) {
  Block& keyed = at(block);
  keys_.erase(keyed.key, block);
  record({.kind = why, .group = keyed.key.group, .request = keyed.planned_by, .block = block});
  keyed.key = {};
  if (keyed.planned_by == RequestId{}) return;
  keyed.planned_by = {};
  --num_planned_;
}

std::int32_t BlockPool::get_new_block(BlockOwner owner) {
  HS_EXPECT(num_free_blocks_ > 0);
  const std::int32_t block = at(num_blocks()).next;
  unlink(block);
  --num_free_blocks_;
  if (at(block).key.block_hash != 0) drop_key(block, CacheEventKind::evicted);
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
    if (freed.planned_by != RequestId{}) drop_key(block, CacheEventKind::withdrawn);
    ++num_free_blocks_;
    if (freed.key.block_hash == 0) {
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
  Block& block = at(args.block);
  if (block.key == key) return;
  if (block.key.block_hash != 0) {
    HS_EXPECT(block.num_tokens < args.num_tokens);
    drop_key(args.block, CacheEventKind::evicted);
  }
  block.key = key;
  block.num_tokens = args.num_tokens;
  keys_.insert(key, args.block);
  if (block_registration_ == BlockRegistration::planned_then_published) {
    HS_EXPECT(args.owner.request != RequestId{});
    block.planned_by = args.owner.request;
    planned_.push_back(args.block);
    ++num_planned_;
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

void BlockPool::evict_blocks(std::span<const std::int32_t> blocks) {
  for (const std::int32_t block : blocks)
    if (at(block).key.block_hash != 0) drop_key(block, CacheEventKind::evicted);
}

bool BlockPool::reset_prefix_cache() {
  if (num_free_blocks_ != num_blocks() - 1) return false;
  for (std::int32_t block = 1; block < num_blocks(); ++block)
    if (at(block).key.block_hash != 0) drop_key(block, CacheEventKind::evicted);
  return true;
}

void BlockPool::publish() {
  for (const std::int32_t block : planned_) at(block).planned_by = {};
  planned_.clear();
  num_planned_ = 0;
}

void BlockPool::withdraw(RequestId request) {
  for (const std::int32_t block : planned_)
    if (at(block).planned_by == request) drop_key(block, CacheEventKind::withdrawn);
}

}  // namespace hybridscope
