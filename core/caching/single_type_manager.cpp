#include "core/caching/single_type_manager.h"

#include <utility>

#include "core/base/math.h"
#include "core/caching/manager_policies.h"

namespace hybridscope {

std::int32_t first_planned_column(const BlockPool& pool, std::span<const std::int32_t> blocks) {
  if (pool.num_planned_blocks() == 0) return -1;
  const auto planned = std::find_if(blocks.begin(), blocks.end(), [&pool](std::int32_t block) {
    return pool.planned_by(block) != RequestId{};
  });
  return planned == blocks.end() ? -1 : static_cast<std::int32_t>(planned - blocks.begin());
}

bool ends_inside_block(std::span<const std::int32_t> blocks, std::int32_t num_tokens,
                       std::int32_t block_size) {
  return !blocks.empty() && num_tokens % block_size != 0;
}

PendingCopy copy_on_write(TableEdit edit, std::int32_t block) {
  const std::int32_t column = std::exchange(edit.table.partial_column, -1);
  const PendingCopy copy{edit.owner, edit[column], block};
  edit.set(column, block);
  edit.pool.touch(block, edit.owner);
  return copy;
}

std::int64_t num_evictable_blocks(const BlockPool& pool, std::span<const std::int32_t> blocks) {
  return std::count_if(blocks.begin(), blocks.end(), [&pool](std::int32_t block) {
    return block != kNullBlock && pool.ref_cnt(block) == 0;
  });
}

std::int64_t common_blocks_to_allocate(const BlockNeedArgs& args, std::int32_t block_size,
                                       std::int32_t skipped_tokens) {
  const std::int64_t required = cdiv(args.num_tokens, std::int64_t{block_size});
  const std::int64_t held = args.table.size();
  if (args.table.num_cached >= 0) return std::max(required - held, std::int64_t{0});
  const std::int64_t skipped = floor_div(skipped_tokens, block_size);
  const auto hit_blocks = static_cast<std::int64_t>(args.new_computed_blocks.size());
  const std::int64_t copies =
      ends_inside_block(args.new_computed_blocks, args.num_computed_tokens, block_size) ? 1 : 0;
  const std::int64_t fresh =
      std::max(required - std::max(skipped, hit_blocks + held), std::int64_t{0}) + copies;
  const std::int64_t dropped = std::clamp(skipped - held, std::int64_t{0}, hit_blocks);
  return fresh + num_evictable_blocks(args.pool, args.new_computed_blocks.subspan(
                                                     static_cast<std::size_t>(dropped)));
}

void remove_skipped_blocks(TableEdit edit, std::int32_t block_size, std::int32_t skipped_tokens) {
  if (skipped_tokens <= 0) return;
  const std::int32_t end = std::min(skipped_tokens / block_size, edit.table.size());
  std::int32_t begin = end;
  while (begin > 0 && edit[begin - 1] != kNullBlock) --begin;
  if (begin == end) return;
  // Freed last column first; the columns are emptied anyway, so they can be reversed in place.
  const auto first = edit.table.block_ids.begin();
  std::reverse(first + begin, first + end);
  edit.pool.free_blocks(std::span(first + begin, first + end), edit.owner);
  for (std::int32_t column = end - 1; column >= begin; --column) edit.set(column, kNullBlock);
}

void add_local_computed_blocks(TableEdit edit, std::span<const std::int32_t> new_computed_blocks,
                               std::int32_t num_skipped_blocks, std::int32_t num_hit_tokens,
                               std::int32_t block_size) {
  const std::size_t skipped = static_cast<std::size_t>(std::max(num_skipped_blocks, 0));
  for (std::size_t i = 0; i < skipped; ++i) edit.append(kNullBlock);
  for (std::size_t i = skipped; i < new_computed_blocks.size(); ++i) {
    edit.pool.touch(new_computed_blocks[i], edit.owner);
    edit.append(new_computed_blocks[i]);
  }
  edit.table.num_cached = edit.table.size();
  if (skipped >= new_computed_blocks.size() ||
      !ends_inside_block(new_computed_blocks, num_hit_tokens, block_size))
    return;
  edit.table.partial_column = num_hit_tokens / block_size;
  edit.table.num_cached = edit.table.partial_column;
}

std::optional<std::int32_t> allocate_common_blocks(TableEdit edit, std::int32_t block_size,
                                                   std::int64_t num_tokens) {
  const std::int64_t required = cdiv(num_tokens, std::int64_t{block_size});
  const std::int32_t first_new_column = edit.table.size();
  if (required - first_new_column > edit.pool.num_free_blocks()) return std::nullopt;
  for (std::int64_t column = first_new_column; column < required; ++column)
    edit.append(edit.pool.get_new_block(edit.owner));
  return first_new_column;
}

std::int32_t cache_full_blocks(TableEdit edit, const GroupParameters& parameters,
                               std::span<const BlockHash> block_hashes, std::int32_t num_tokens,
                               const RetainedStates* retained) {
  const auto hashed = static_cast<std::int64_t>(block_hashes.size()) * parameters.hash_block_size;
  const auto num_full =
      static_cast<std::int32_t>(std::min<std::int64_t>(num_tokens, hashed)) / parameters.block_size;
  const std::int32_t num_cached = std::max(edit.table.num_cached, 0);
  if (num_cached >= num_full) return num_cached;
  const std::int32_t end = std::min(num_full, edit.table.size());
  for (std::int32_t column = num_cached; column < end; ++column) {
    if (edit[column] == kNullBlock) continue;
    if (retained != nullptr && !retained->keeps(column)) continue;
    edit.pool.cache_full_block({.block = edit[column],
                                .owner = edit.owner,
                                .column = column,
                                .num_tokens = (column + 1) * parameters.block_size,
                                .block_hash = parameters.block_hash(block_hashes, column)});
  }
  edit.table.num_cached = num_full;
  return num_cached;
}

namespace {

void forget_table(TableEdit edit) {
  RequestTable& table = edit.table;
  std::vector<std::int32_t> block_ids = std::move(table.block_ids);
  block_ids.clear();
  table = {.block_ids = std::move(block_ids)};  // keeps its memory
  edit.pool.record({.kind = CacheEventKind::table_dropped,
                    .group = edit.owner.group,
                    .request = edit.owner.request});
}

}  // namespace

void free_table(TableEdit edit) {
  std::reverse(edit.table.block_ids.begin(), edit.table.block_ids.end());
  edit.pool.free_blocks(edit.table.block_ids, edit.owner);
  forget_table(edit);
}

void defer_table(TableEdit edit, std::vector<std::int32_t>& blocks) {
  for (auto block = edit.table.block_ids.rbegin(); block != edit.table.block_ids.rend(); ++block) {
    if (*block == kNullBlock) continue;
    blocks.push_back(*block);
    edit.pool.record({.kind = CacheEventKind::free_deferred,
                      .group = edit.owner.group,
                      .request = edit.owner.request,
                      .block = *block});
  }
  forget_table(edit);
}

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
