#include "core/caching/mamba_manager.h"

#include <algorithm>
#include <utility>

#include "core/base/math.h"
#include "core/caching/block_pool_policies.h"
#include "core/caching/manager_policies.h"

namespace hybridscope {
namespace {

// Only the state after the last computed token is needed.
std::int32_t skipped_tokens(std::int32_t num_computed_tokens) { return num_computed_tokens - 1; }

// The block that ends the prefix in every group; false, and an empty list, if one is not cached.
bool find_states(const HitSearchArgs& args, BlockHash block_hash,
                 std::vector<std::int32_t>& block_ids) {
  block_ids.clear();
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

// The longest prefix whose state some block holds: of whole blocks, a multiple of the alignment, or
// on the grid of hash blocks.
SpecHit MambaManager::find_longest_cache_hit(const HitSearchArgs& args) {
  const GroupParameters& parameters = args.parameters;
  const std::int32_t unit = args.inside_blocks ? args.alignment : parameters.block_size;
  SpecHit hit;
  hit.lookup.stop = LookupStop::limit_reached;
  for (std::int32_t length = round_down(args.max_tokens(), unit); length > 0; length -= unit) {
    if (unit != args.alignment && length % args.alignment != 0) {
      if (hit.lookup.stop == LookupStop::limit_reached) hit.lookup.stop = LookupStop::alignment;
      continue;
    }
    const std::int32_t column = (length - 1) / parameters.block_size;
    const auto hash = static_cast<std::size_t>(length / parameters.hash_block_size - 1);
    if (find_states(args, args.block_hashes[hash], hit.block_ids)) {
      hit.length = length;
      hit.num_blocks = column + 1;
      break;
    }
    hit.lookup.stop = LookupStop::miss;
    if (hit.lookup.miss_block < 0) hit.lookup.miss_block = column;
  }
  hit.lookup.present_length = hit.length;
  hit.lookup.hit_length = hit.length;
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
                                     skipped_tokens(args.num_computed_tokens));
  }
  return fresh_blocks(args) + num_evictable_blocks(args.pool, hit);
}

std::int64_t MambaManager::fresh_blocks(const BlockNeedArgs& args) const {
  const std::span<const std::int32_t> hit = args.new_computed_blocks;
  const bool copies =
      args.table.partial_column >= 0 ||
      ends_inside_block(hit, args.num_computed_tokens, config_.parameters.block_size);
  const int checkpoint = checkpoint_of(args).position > 0 ? 1 : 0;
  std::int64_t fresh = required_blocks(args.num_tokens_main_model) -
                       static_cast<std::int64_t>(hit.size()) - args.table.size();
  if (copies) fresh = std::max(fresh, std::int64_t{0}) + 1;
  if (fresh <= 0) return fresh;
  // A running request moves its speculative blocks along and needs one block, however far it goes.
  std::int64_t most = 1 + (copies ? 1 : 0) + checkpoint;
  if (!args.table.got_blocks) most += config_.num_speculative_blocks;
  switch (config_.policies.get<PrefillCheckpoint>()) {
    case PrefillCheckpoint::never: return most;
    case PrefillCheckpoint::every_chunk:
      return checkpoint > 0 && args.table.got_blocks ? fresh : most;
    case PrefillCheckpoint::last_chunk:
      if (checkpoint > 0 && args.table.got_blocks) most += config_.num_speculative_blocks;
      return std::min(fresh, most);
    case PrefillCheckpoint::as_states_retained: return std::min(fresh, most);
  }
  return fresh;
}

MambaManager::Checkpoint MambaManager::checkpoint_of(const BlockNeedArgs& args) const {
  const PrefillCheckpoint policy = config_.policies.get<PrefillCheckpoint>();
  const std::int32_t end = args.num_tokens_main_model;
  if (policy == PrefillCheckpoint::never || !config_.has_prefill_checkpoint_blocks) return {};
  const bool any_chunk =
      policy == PrefillCheckpoint::every_chunk || config_.retention.interval.value_or(1) > 0;
  const GroupParameters& parameters = config_.parameters;
  // can_checkpoint refuses such chunks too: here decode steps end early.
  const bool short_chunk = end - args.num_computed_tokens <= parameters.hash_block_size;
  if (short_chunk || (!any_chunk && end < args.prefill_end)) return {};
  if (config_.policies.is(CheckpointStart::on_block_boundary) &&
      args.num_computed_tokens % parameters.block_size != 0)
    return {};
  const std::int32_t position = last_replay_position(end,
                                                     policy == PrefillCheckpoint::as_states_retained
                                                         ? config_.retention.hit_alignment
                                                         : parameters.hash_block_size,
                                                     config_.replay);
  const std::int32_t column = cdiv(end, parameters.block_size) - 2;
  if (column < 0 || !can_checkpoint({.start = args.num_computed_tokens,
                                     .end = end,
                                     .block_size = parameters.block_size,
                                     .hash_block_size = parameters.hash_block_size},
                                    position, config_.prefill_checkpoint_alignment))
    return {};
  const RequestTable& table = args.table;
  const bool free_column =
      column >= table.size() || table.block_ids[static_cast<std::size_t>(column)] == kNullBlock ||
      (table.got_blocks && column >= table.size() - config_.num_speculative_blocks);
  return free_column ? Checkpoint{position, column} : Checkpoint{};
}

void MambaManager::note_checkpoint(RequestTable& table, const BlockNeedArgs& args) const {
  const Checkpoint checkpoint = align() ? checkpoint_of(args) : Checkpoint{};
  table.checkpoint_position = checkpoint.position;
  table.checkpoint_column = checkpoint.column;
}

void MambaManager::remove_skipped_blocks(TableEdit edit, std::int32_t num_computed_tokens) const {
  // Up to num_speculative_blocks of the computed tokens may still be rejected.
  const std::int32_t computed =
      config_.policies.is(SkippedBasis::processed)
          ? num_computed_tokens
          : std::max(0, num_computed_tokens - config_.num_speculative_blocks);
  const std::int32_t block_size = config_.parameters.block_size;
  if (align() && config_.policies.is(StateRetirement::passes_nulls))
    retire_states(edit, computed);
  else
    hybridscope::remove_skipped_blocks(edit, block_size, skipped_tokens(computed));
  const std::int32_t last = edit.table.last_state_block_idx;
  if (last < 0 || last >= cdiv(computed, block_size) - 1 || !edit.table.holds_block(last)) return;
  const std::int32_t block = edit[last];
  edit.pool.free_blocks(std::span(&block, 1), edit.owner);
  edit.set(last, kNullBlock);
}

// Frees all states before the last computed token, the last one first.
void MambaManager::retire_states(TableEdit edit, std::int32_t num_computed_tokens) const {
  const std::int32_t skipped = skipped_tokens(num_computed_tokens);
  if (skipped <= 0) return;
  const std::int32_t end = std::min(skipped / config_.parameters.block_size, edit.table.size());
  if (edit.table.num_retired >= end) return;
  std::vector<std::int32_t> freed;
  for (std::int32_t column = end - 1; column >= edit.table.num_retired; --column) {
    if (edit[column] == kNullBlock) continue;
    freed.push_back(edit[column]);
    edit.set(column, kNullBlock);
  }
  edit.pool.free_blocks(freed, edit.owner);
  edit.table.num_retired = end;
}

void MambaManager::add_local_computed_blocks(TableEdit edit,
                                             std::span<const std::int32_t> new_computed_blocks,
                                             std::int32_t num_computed_tokens) {
  const std::int32_t block_size = config_.parameters.block_size;
  hybridscope::add_local_computed_blocks(edit, new_computed_blocks,
                                         floor_div(skipped_tokens(num_computed_tokens), block_size),
                                         num_computed_tokens, block_size);
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
  RequestTable& table = edit.table;
  const std::int32_t spec = config_.num_speculative_blocks;
  const std::int32_t required = required_blocks(num_tokens_main_model);
  const std::int32_t before = table.size();
  const bool copies = table.partial_column >= 0;
  const std::int32_t checkpoint = table.checkpoint_position > 0 ? 1 : 0;
  if (required <= before && !copies && checkpoint == 0) {
    if (config_.policies.is(EmptyAllocation::noted)) table.got_blocks = true;
    return before;
  }
  // The block of a checkpoint stays left of the running block.
  const std::int32_t first_kept = required - spec - 1 - checkpoint;
  const bool moves =
      table.got_blocks &&
      (checkpoint == 0 || config_.policies.is(PrefillCheckpoint::as_states_retained));
  const std::int32_t moved = moves ? std::clamp(first_kept - (before - spec), 0, spec) : 0;
  const std::int32_t fresh =
      std::max(required - std::max(before, first_kept) - moved, 0) + (copies ? 1 : 0);
  if (fresh > edit.pool.num_free_blocks()) return std::nullopt;

  if (table.got_blocks)
    table.last_state_block_idx = before - 1 - spec;
  else if (before > 0)
    table.last_state_block_idx = before - 1;
  while (table.size() < first_kept) edit.append(kNullBlock);
  move_speculative_blocks(edit, before - spec, before - spec + moved);
  if (copies) copy_partial_block(edit, edit.pool.get_new_block(edit.owner));
  while (table.size() < required) edit.append(edit.pool.get_new_block(edit.owner));
  table.got_blocks = true;
  return before;
}

void MambaManager::move_speculative_blocks(TableEdit edit, std::int32_t first,
                                           std::int32_t end) const {
  for (std::int32_t column = first; column < end; ++column) {
    edit.append(edit[column]);
    edit.set(column, kNullBlock);
  }
}

// A request that runs keeps the block, because the worker's tables only grow: the prefix cache gets
// the copy.
void MambaManager::copy_partial_block(TableEdit edit, std::int32_t block) {
  if (!edit.table.got_blocks) {
    pending_copies_.push_back(copy_on_write(edit, block));
    return;
  }
  const std::int32_t source = edit[std::exchange(edit.table.partial_column, -1)];
  edit.pool.move_keys(source, block, edit.owner);
  pending_copies_.push_back({edit.owner, source, block});
  edit.pool.touch(source, edit.owner);
  note_cached_this_step(edit.pool, block);
}

void MambaManager::note_cached_this_step(const BlockPool& pool, std::int32_t block) {
  if (const BlockKey key = pool.key(block); key.block_hash != 0)
    cached_this_step_.push_back(key.block_hash);
}

bool MambaManager::caches_nothing(const RequestTable& table, std::int32_t num_tokens,
                                  const CachedPrompt& prompt) const {
  const std::int32_t block_size = config_.parameters.block_size;
  const bool no_tail = !align() || config_.policies.is(PromptTailKey::never) ||
                       num_tokens > prompt.num_prompt_tokens ||
                       num_tokens <= table.num_retired * block_size;
  return no_tail && table.checkpoint_position <= 0 &&
         num_tokens < (std::max(table.num_cached, 0) + 1) * block_size;
}

void MambaManager::cache_blocks(TableEdit edit, std::span<const BlockHash> block_hashes,
                                std::int32_t num_tokens, const CachedPrompt& prompt) {
  if (caches_nothing(edit.table, num_tokens, prompt)) return;
  const RetainedStates retained(config_.retention, prompt, config_.parameters.block_size,
                                config_.drops_eagle_block);
  const std::int32_t first =
      cache_full_blocks(edit, config_.parameters, block_hashes, num_tokens, &retained);
  const std::int32_t end = std::min(edit.table.num_cached, edit.table.size());
  if (align() && edit.table.checkpoint_position > 0)
    cache_checkpoint(edit, block_hashes, num_tokens, prompt, retained);
  else if (align() && !config_.policies.is(PromptTailKey::never))
    cache_prompt_tail(edit, block_hashes, num_tokens, prompt);
  for (std::int32_t column = first; column < end; ++column)
    note_cached_this_step(edit.pool, edit[column]);
}

// The block of the checkpoint gets the key of the state it will hold instead of that of its column.
void MambaManager::cache_checkpoint(TableEdit edit, std::span<const BlockHash> block_hashes,
                                    std::int32_t num_tokens, const CachedPrompt& prompt,
                                    const RetainedStates& retained) {
  const std::int32_t position = edit.table.checkpoint_position;
  const std::int32_t column = edit.table.checkpoint_column;
  const std::int32_t block = edit[column];
  if (!keeps_checkpoint(edit.table, num_tokens, prompt, retained)) {
    edit.pool.evict_blocks(std::span(&block, 1));
    return;
  }
  if (edit.pool.key_tokens(block) == position) return;
  const auto hash = static_cast<std::size_t>(position / config_.parameters.hash_block_size - 1);
  edit.pool.cache_partial_block({.block = block,
                                 .owner = edit.owner,
                                 .column = column,
                                 .num_tokens = position,
                                 .block_hash = block_hashes[hash]},
                                /*replaces_keys=*/true);
  cached_this_step_.push_back(block_hashes[hash]);
}

bool MambaManager::keeps_checkpoint(const RequestTable& table, std::int32_t num_tokens,
                                    const CachedPrompt& prompt,
                                    const RetainedStates& retained) const {
  const PrefillCheckpoint policy = config_.policies.get<PrefillCheckpoint>();
  const std::int32_t position = table.checkpoint_position;
  if (position == prompt.shared_prefix_boundary) return true;
  if (policy != PrefillCheckpoint::as_states_retained &&
      (config_.retention.interval != 0 || num_tokens >= prompt.num_prompt_tokens))
    return true;
  if (policy == PrefillCheckpoint::every_chunk) return false;
  const bool whole_blocks = policy == PrefillCheckpoint::as_states_retained;
  const std::int32_t alignment =
      whole_blocks ? config_.retention.hit_alignment : config_.parameters.hash_block_size;
  if (position == last_replay_position(prompt.num_prompt_tokens, alignment, config_.replay))
    return true;
  const std::int32_t block_size = config_.parameters.block_size;
  return whole_blocks && position % block_size == 0 &&
         retained.on_interval(position / block_size - 1);
}

// Where the end of the prompt is registered although it may lie inside a block.
std::int32_t MambaManager::prompt_tail(const CachedPrompt& prompt) const {
  const std::int32_t hash_block = config_.parameters.hash_block_size;
  const PromptTailKey policy = config_.policies.get<PromptTailKey>();
  if (policy >= PromptTailKey::at_replay_position)
    return last_replay_position(prompt.num_prompt_tokens, hash_block, config_.replay);
  const bool earlier = policy == PromptTailKey::before_eagle_hash_block ? config_.drops_eagle_block
                       : policy == PromptTailKey::before_dropped_block
                           ? config_.replay.eagle_block_drop
                           : false;
  return std::max(round_down(prompt.num_prompt_tokens, hash_block) - (earlier ? hash_block : 0), 0);
}

void MambaManager::cache_prompt_tail(TableEdit edit, std::span<const BlockHash> block_hashes,
                                     std::int32_t num_tokens, const CachedPrompt& prompt) {
  const std::int32_t hash_block = config_.parameters.hash_block_size;
  const std::int32_t block_size = config_.parameters.block_size;
  const PromptTailKey policy = config_.policies.get<PromptTailKey>();
  if (num_tokens <= 0 || num_tokens % hash_block != 0) return;
  const bool ends_inside = num_tokens % block_size != 0;
  if (policy < PromptTailKey::at_replay_position && !ends_inside) return;
  const bool junction =
      config_.shared_prefix_checkpoint && num_tokens == prompt.shared_prefix_boundary &&
      prompt.num_computed_tokens < num_tokens && num_tokens <= prompt.num_prompt_tokens;
  if (num_tokens != prompt_tail(prompt) && !junction) return;
  if (config_.policies.is(TailRegistration::of_its_chunk) &&
      prompt.num_computed_tokens >= num_tokens)
    return;
  const std::int32_t column = cdiv(num_tokens, block_size) - 1;
  if (!edit.table.holds_block(column)) return;
  if (policy == PromptTailKey::at_replay_position_once &&
      edit.pool.key_tokens(edit[column]) == num_tokens)
    return;
  // A hash that covers tokens behind its block is not known before they are.
  const auto number = static_cast<std::size_t>(num_tokens / hash_block - 1);
  if (number >= block_hashes.size()) return;
  const BlockHash hash = block_hashes[number];
  edit.pool.cache_partial_block({.block = edit[column],
                                 .owner = edit.owner,
                                 .column = column,
                                 .num_tokens = num_tokens,
                                 .block_hash = hash},
                                /*replaces_keys=*/false);
  cached_this_step_.push_back(hash);
  if (!ends_inside) return;
  edit.table.partial_column = column;
  edit.table.num_cached = column;
}

}  // namespace hybridscope
