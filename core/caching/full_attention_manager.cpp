#include "core/caching/full_attention_manager.h"

#include <algorithm>

#include "core/base/math.h"
#include "core/caching/full_attention_manager_policies.h"
#include "core/caching/mamba_manager_policies.h"

namespace hybridscope {
namespace {

// Appends the block of every group that has the hash; false, and nothing appended, if one has none.
bool append_cached_blocks(const HitSearchArgs& args, BlockHash block_hash,
                          std::vector<std::int32_t>& block_ids) {
  const std::size_t size_before = block_ids.size();
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

// Looks for the longest part of the next block: from its last hash block but one downwards.
void append_cached_part(const HitSearchArgs& args, SpecHit& hit) {
  const std::int32_t hash_block = args.alignment;
  const std::int32_t whole = hit.num_blocks * args.parameters.block_size;
  const std::int32_t limit =
      std::min(whole + args.parameters.block_size - hash_block, args.max_tokens());
  for (std::int32_t length = round_down(limit, hash_block); length > whole; length -= hash_block) {
    const auto hash = static_cast<std::size_t>(length / hash_block - 1);
    if (!append_cached_blocks(args, args.block_hashes[hash], hit.block_ids)) continue;
    ++hit.num_blocks;
    hit.length = length;
    return;
  }
}

}  // namespace

SpecHit FullAttentionManager::find_longest_cache_hit(const HitSearchArgs& args) {
  const std::int32_t block_size = args.parameters.block_size;
  const std::int32_t limit = args.max_blocks();
  SpecHit hit;
  hit.lookup.stop = LookupStop::limit_reached;
  for (std::int32_t i = 0; i < limit; ++i) {
    if (!append_cached_blocks(args, args.parameters.block_hash(args.block_hashes, i),
                              hit.block_ids)) {
      hit.lookup.stop = LookupStop::miss;
      hit.lookup.miss_block = i;
      break;
    }
    ++hit.num_blocks;
  }
  hit.length = hit.num_blocks * block_size;
  if (args.inside_blocks) append_cached_part(args, hit);
  hit.lookup.present_length = hit.length;
  if (args.drop_eagle_block && hit.length > 0) {
    hit.length -= std::min(args.alignment, block_size);
    hit.lookup.stop = LookupStop::eagle_drop;
  }
  if (hit.length % args.alignment != 0) {
    hit.length = round_down(hit.length, args.alignment);
    hit.lookup.stop = LookupStop::alignment;
  }
  hit.num_blocks = cdiv(hit.length, block_size);
  hit.block_ids.resize(static_cast<std::size_t>(hit.num_blocks) * args.groups.size());
  hit.lookup.hit_length = hit.length;
  return hit;
}

bool FullAttentionManager::must_wait_for(std::span<const std::int32_t> new_computed_blocks,
                                         std::int32_t num_computed_tokens) const {
  return ends_inside_block(new_computed_blocks, num_computed_tokens,
                           config_.parameters.block_size) &&
         std::ranges::find(cached_this_step_, new_computed_blocks.back()) !=
             cached_this_step_.end();
}

std::int64_t FullAttentionManager::get_num_blocks_to_allocate(const BlockNeedArgs& args) const {
  if (first_planned_column(args.pool, args.new_computed_blocks) >= 0 ||
      must_wait_for(args.new_computed_blocks, args.num_computed_tokens))
    return args.pool.num_blocks() + 1;
  return common_blocks_to_allocate(args, config_.parameters.block_size, 0);
}

bool FullAttentionManager::tails_wait() const {
  return config_.policies.is(SameStepTail::waits) &&
         config_.parameters.hash_block_size < config_.parameters.block_size;
}

void FullAttentionManager::add_local_computed_blocks(
    TableEdit edit, std::span<const std::int32_t> new_computed_blocks,
    std::int32_t num_computed_tokens) {
  hybridscope::add_local_computed_blocks(edit, new_computed_blocks, 0, num_computed_tokens,
                                         config_.parameters.block_size);
}

std::optional<std::int32_t> FullAttentionManager::allocate_new_blocks(TableEdit edit,
                                                                      std::int32_t num_tokens,
                                                                      std::int32_t) {
  if (edit.table.partial_column >= 0) {
    if (edit.pool.num_free_blocks() == 0) return std::nullopt;
    pending_copies_.push_back(copy_on_write(edit, edit.pool.get_new_block(edit.owner)));
  }
  return allocate_common_blocks(edit, config_.parameters.block_size, num_tokens);
}

void FullAttentionManager::cache_blocks(TableEdit edit, std::span<const BlockHash> block_hashes,
                                        std::int32_t num_tokens, const CachedPrompt& prompt) {
  const std::int32_t first =
      cache_full_blocks(edit, config_.parameters, block_hashes, num_tokens, /*retained=*/nullptr);
  if (tails_wait())
    for (std::int32_t column = first; column < std::min(edit.table.num_cached, edit.table.size());
         ++column)
      cached_this_step_.push_back(edit[column]);
  if (!config_.policies.is(PromptTailKey::never) &&
      config_.parameters.hash_block_size < config_.parameters.block_size)
    cache_prompt_tail(edit, block_hashes, num_tokens, prompt);
}

// Registers the prompt's last hash block if it ends inside one of the group's blocks.
void FullAttentionManager::cache_prompt_tail(TableEdit edit,
                                             std::span<const BlockHash> block_hashes,
                                             std::int32_t num_tokens, const CachedPrompt& prompt) {
  const GroupParameters& parameters = config_.parameters;
  const bool leaves_a_token =
      config_.policies.get<PromptTailKey>() >= PromptTailKey::at_replay_position &&
      !config_.drops_eagle_block;
  std::int32_t num_hash_blocks =
      (prompt.num_prompt_tokens - (leaves_a_token ? 1 : 0)) / parameters.hash_block_size;
  num_hash_blocks = std::min(num_hash_blocks, static_cast<std::int32_t>(block_hashes.size()));
  const std::int32_t tail = num_hash_blocks * parameters.hash_block_size;
  const std::int32_t column = tail / parameters.block_size;
  if (tail <= 0 || tail > num_tokens || tail % parameters.block_size == 0 ||
      column >= edit.table.size())
    return;
  edit.pool.cache_partial_block(
      {.block = edit[column],
       .owner = edit.owner,
       .column = column,
       .num_tokens = tail,
       .block_hash = block_hashes[static_cast<std::size_t>(num_hash_blocks - 1)]},
      /*replaces_keys=*/false);
  const bool fills_it = prompt.num_computed_tokens < tail;  // later steps register it again
  if (tails_wait() && fills_it) cached_this_step_.push_back(edit[column]);
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
