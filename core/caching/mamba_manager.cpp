#include "core/caching/mamba_manager.h"

#include <algorithm>

#include "core/base/math.h"

namespace hybridscope {
namespace {

// Only the state after the last computed token is needed.
std::int32_t skipped_tokens(std::int32_t num_computed_tokens) { return num_computed_tokens - 1; }

// The block that ends the prefix in every group; false, and an empty list, if one is not cached.
bool find_states(const HitSearchArgs& args, std::int32_t block_index,
                 std::vector<std::int32_t>& block_ids) {
  block_ids.clear();
  const BlockHash block_hash = args.parameters.block_hash(args.block_hashes, block_index);
  for (const std::int32_t group : args.groups) {
    const std::int32_t block =
        args.pool.get_cached_block({.block_hash = block_hash, .group = group});
    if (block == kNullBlock) {
      block_ids.clear();
      return false;
    }
    block_ids.push_back(block);
  }
  return true;
}

}  // namespace

SpecHit MambaManager::find_longest_cache_hit(const HitSearchArgs& args) {
  const std::int32_t block_size = args.parameters.block_size;
  SpecHit hit;
  hit.lookup.stop = LookupStop::limit_reached;
  for (std::int32_t i = args.max_blocks() - 1; i >= 0; --i) {
    const std::int32_t length = (i + 1) * block_size;
    if (block_size != args.alignment && length % args.alignment != 0) {
      if (hit.lookup.stop == LookupStop::limit_reached) hit.lookup.stop = LookupStop::alignment;
      continue;
    }
    if (find_states(args, i, hit.block_ids)) {
      hit.num_blocks = i + 1;
      break;
    }
    hit.lookup.stop = LookupStop::miss;
    if (hit.lookup.miss_block < 0) hit.lookup.miss_block = i;
  }
  hit.lookup.present_length = hit.num_blocks * block_size;
  hit.lookup.hit_length = hit.lookup.present_length;
  return hit;
}

std::int64_t MambaManager::with_speculative_blocks(std::int64_t num_tokens) const {
  return num_tokens + std::int64_t{config_.parameters.block_size} * config_.num_speculative_blocks;
}

std::int32_t MambaManager::required_blocks(std::int32_t num_tokens_main_model) const {
  return cdiv(num_tokens_main_model, config_.parameters.block_size) +
         config_.num_speculative_blocks;
}

bool MambaManager::must_wait_for(const BlockPool& pool,
                                 std::span<const std::int32_t> new_computed_blocks) const {
  return pool.block_registration() != BlockRegistration::at_allocation_hit_at_once &&
         was_cached_this_step(pool, new_computed_blocks);
}

bool MambaManager::was_cached_this_step(const BlockPool& pool,
                                        std::span<const std::int32_t> new_computed_blocks) const {
  if (new_computed_blocks.empty()) return false;
  const BlockKey key = pool.key(new_computed_blocks.back());
  return key.block_hash != 0 && key.group == config_.parameters.group &&
         std::find(cached_this_step_.begin(), cached_this_step_.end(), key.block_hash) !=
             cached_this_step_.end();
}

std::int64_t MambaManager::get_num_blocks_to_allocate(const BlockNeedArgs& args) const {
  const std::span<const std::int32_t> hit = args.new_computed_blocks;
  if (must_wait_for(args.pool, hit) || first_planned_column(args.pool, hit) >= 0)
    return args.pool.num_blocks() + 1;
  if (!align()) {
    BlockNeedArgs with_speculation = args;
    with_speculation.num_tokens = with_speculative_blocks(args.num_tokens);
    return common_blocks_to_allocate(with_speculation, config_.parameters.block_size,
                                     skipped_tokens(args.total_computed_tokens));
  }
  std::int64_t fresh = required_blocks(args.num_tokens_main_model) -
                       static_cast<std::int64_t>(hit.size()) - args.table.size();
  // A running request moves its speculative blocks along and needs one block, however far it goes.
  if (fresh > 0) fresh = args.table.got_blocks ? 1 : 1 + config_.num_speculative_blocks;
  return fresh + num_evictable_blocks(args.pool, hit);
}

void MambaManager::remove_skipped_blocks(TableEdit edit, std::int32_t num_computed_tokens) const {
  // Up to num_speculative_blocks of the computed tokens may still be rejected.
  const std::int32_t computed = std::max(0, num_computed_tokens - config_.num_speculative_blocks);
  const std::int32_t block_size = config_.parameters.block_size;
  hybridscope::remove_skipped_blocks(edit, block_size, skipped_tokens(computed));
  const std::int32_t last = edit.table.last_state_block_idx;
  if (last < 0 || last >= cdiv(computed, block_size) - 1 || edit[last] == kNullBlock) return;
  const std::int32_t block = edit[last];
  edit.pool.free_blocks(std::span(&block, 1), edit.owner);
  edit.set(last, kNullBlock);
}

void MambaManager::add_local_computed_blocks(TableEdit edit,
                                             std::span<const std::int32_t> new_computed_blocks,
                                             std::int32_t total_computed_tokens) {
  hybridscope::add_local_computed_blocks(
      edit, new_computed_blocks,
      floor_div(skipped_tokens(total_computed_tokens), config_.parameters.block_size));
}

std::optional<std::int32_t> MambaManager::allocate_new_blocks(TableEdit edit,
                                                              std::int32_t num_tokens,
                                                              std::int32_t num_tokens_main_model) {
  if (align()) return allocate_align(edit, num_tokens_main_model);
  return allocate_common_blocks(edit, config_.parameters.block_size,
                                with_speculative_blocks(num_tokens));
}

std::optional<std::int32_t> MambaManager::allocate_align(TableEdit edit,
                                                         std::int32_t num_tokens_main_model) {
  const std::int32_t spec = config_.num_speculative_blocks;
  const std::int32_t required = required_blocks(num_tokens_main_model);
  const std::int32_t before = edit.table.size();
  if (required <= before) return before;
  const std::int32_t running_column = required - spec - 1;
  const std::int32_t first_speculative = before - spec;
  const std::int32_t moved =
      edit.table.got_blocks ? std::clamp(running_column - first_speculative, 0, spec) : 0;
  const std::int32_t fresh = required - std::max(before, running_column) - moved;
  if (fresh > edit.pool.num_free_blocks()) return std::nullopt;

  if (edit.table.got_blocks)
    edit.table.last_state_block_idx = before - 1 - spec;
  else if (before > 0)
    edit.table.last_state_block_idx = before - 1;
  while (edit.table.size() < running_column) edit.append(kNullBlock);
  for (std::int32_t i = 0; i < moved; ++i) {
    edit.append(edit[first_speculative + i]);
    edit.set(first_speculative + i, kNullBlock);
  }
  while (edit.table.size() < required) edit.append(edit.pool.get_new_block(edit.owner));
  edit.table.got_blocks = true;
  return before;
}

void MambaManager::cache_blocks(TableEdit edit, std::span<const BlockHash> block_hashes,
                                std::int32_t num_tokens, const CachedPrompt& prompt) {
  const RetainedStates retained(config_.retention, prompt, config_.parameters.block_size,
                                config_.drops_eagle_block);
  const std::int32_t first =
      cache_full_blocks(edit, config_.parameters, block_hashes, num_tokens, &retained);
  const std::int32_t end = std::min(edit.table.num_cached, edit.table.size());
  for (std::int32_t column = first; column < end; ++column)
    if (edit[column] != kNullBlock && retained.keeps(column))
      cached_this_step_.push_back(config_.parameters.block_hash(block_hashes, column));
}

}  // namespace hybridscope
