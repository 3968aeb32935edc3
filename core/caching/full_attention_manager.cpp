#include "core/caching/full_attention_manager.h"

#include <algorithm>

namespace hybridscope {
namespace {

// Appends block `block_index` of every group; false, and nothing appended, if one is not cached.
bool append_cached_blocks(const HitSearchArgs& args, std::int32_t block_index,
                          std::vector<std::int32_t>& block_ids) {
  const std::size_t size_before = block_ids.size();
  const BlockHash block_hash = args.parameters.block_hash(args.block_hashes, block_index);
  for (const std::int32_t group : args.groups) {
    const std::int32_t block =
        args.pool.get_cached_block({.block_hash = block_hash, .group = group});
    if (block == kNullBlock) {
      block_ids.resize(size_before);
      return false;
    }
    block_ids.push_back(block);
  }
  return true;
}

}  // namespace

SpecHit FullAttentionManager::find_longest_cache_hit(const HitSearchArgs& args) {
  const std::int32_t block_size = args.parameters.block_size;
  const std::int32_t limit = args.max_blocks();
  SpecHit hit;
  hit.lookup.stop = LookupStop::limit_reached;
  for (std::int32_t i = 0; i < limit; ++i) {
    if (!append_cached_blocks(args, i, hit.block_ids)) {
      hit.lookup.stop = LookupStop::miss;
      hit.lookup.miss_block = i;
      break;
    }
    ++hit.num_blocks;
  }
  hit.lookup.present_length = hit.num_blocks * block_size;
  if (args.drop_eagle_block && hit.num_blocks > 0) {
    --hit.num_blocks;
    hit.lookup.stop = LookupStop::eagle_drop;
  }
  while (block_size != args.alignment && hit.num_blocks * block_size % args.alignment != 0) {
    --hit.num_blocks;
    hit.lookup.stop = LookupStop::alignment;
  }
  hit.block_ids.resize(static_cast<std::size_t>(hit.num_blocks) * args.groups.size());
  hit.lookup.hit_length = hit.num_blocks * block_size;
  return hit;
}

std::int64_t FullAttentionManager::get_num_blocks_to_allocate(const BlockNeedArgs& args) const {
  if (first_planned_column(args.pool, args.new_computed_blocks) >= 0)
    return args.pool.num_blocks() + 1;
  return common_blocks_to_allocate(args, parameters_.block_size, 0);
}

void FullAttentionManager::add_local_computed_blocks(
    TableEdit edit, std::span<const std::int32_t> new_computed_blocks, std::int32_t) {
  hybridscope::add_local_computed_blocks(edit, new_computed_blocks, 0);
}

std::optional<std::int32_t> FullAttentionManager::allocate_new_blocks(TableEdit edit,
                                                                      std::int32_t num_tokens,
                                                                      std::int32_t) {
  return allocate_common_blocks(edit, parameters_.block_size, num_tokens);
}

void FullAttentionManager::cache_blocks(TableEdit edit, std::span<const BlockHash> block_hashes,
                                        std::int32_t num_tokens, const CachedPrompt&) {
  cache_full_blocks(edit, parameters_, block_hashes, num_tokens, /*retained=*/nullptr);
}

std::int32_t FullAttentionManager::get_num_common_prefix_blocks(const BlockPool& pool,
                                                                const RequestTable& table,
                                                                std::int32_t num_requests) const {
  const auto& blocks = table.block_ids;
  const auto end = std::find_if(blocks.begin(), blocks.end(), [&](std::int32_t block) {
    return pool.ref_cnt(block) != num_requests;
  });
  return static_cast<std::int32_t>(end - blocks.begin());
}

}  // namespace hybridscope
