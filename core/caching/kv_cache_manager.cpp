#include "core/caching/kv_cache_manager.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/caching/block_pool_policies.h"
#include "core/caching/manager_policies.h"

namespace hybridscope {
namespace {

Status check_config(const KVCacheManagerConfig& config) {
  const std::int32_t num_blocks = config.kv_cache_config.num_blocks;
  if (num_blocks <= 0 || config.max_model_len <= 0)
    return invalid_input("num_blocks " + std::to_string(num_blocks) + " and max_model_len " +
                         std::to_string(config.max_model_len) + " must be positive");
  if (!(config.watermark >= 0.0 && config.watermark <= 1.0))
    return invalid_input("watermark " + std::to_string(config.watermark) +
                         " is not a fraction between 0 and 1");
  const std::int32_t interval = config.retention_interval.value_or(0);
  if (interval < 0 || config.scheduler_block_size <= 0 ||
      interval % config.scheduler_block_size != 0)
    return invalid_input("prefix_cache_retention_interval " + std::to_string(interval) +
                         " is not a multiple of scheduler_block_size " +
                         std::to_string(config.scheduler_block_size) + " (expected one, or 0)");
  return Ok{};
}

std::string name_of(RequestId request) { return "request " + std::to_string(request.value); }

}  // namespace

Result<KVCacheManager> KVCacheManager::create(const KVCacheManagerConfig& config,
                                              CacheEventLog* log) {
  if (const Status checked = check_config(config); !checked) return checked.error();
  Result<HybridCoordinator> coordinator =
      HybridCoordinator::create({.groups = config.kv_cache_config.groups,
                                 .enable_caching = config.enable_caching,
                                 .use_eagle = config.use_eagle,
                                 .scheduler_block_size = config.scheduler_block_size,
                                 .hash_block_size = config.hash_block_size,
                                 .policies = config.policies});
  if (!coordinator) return coordinator.error();
  return KVCacheManager(config, std::move(coordinator).value(), log);
}

KVCacheManager::KVCacheManager(const KVCacheManagerConfig& config, HybridCoordinator coordinator,
                               CacheEventLog* log)
    : coordinator_(std::move(coordinator)),
      pool_({.num_blocks = config.kv_cache_config.num_blocks,
             .policies = config.policies,
             .keyless_blocks_to_back =
                 !config.enable_caching && config.policies.is(UncachedFree::to_back)},
            log),
      max_model_len_(config.max_model_len),
      hash_block_size_(config.hash_block_size),
      num_hash_lookahead_tokens_(config.num_hash_lookahead_tokens),
      watermark_blocks_(static_cast<std::int64_t>(
          std::floor(config.watermark * config.kv_cache_config.num_blocks))),
      enable_caching_(config.enable_caching),
      policies_(config.policies),
      first_new_column_(config.kv_cache_config.groups.size()) {
  for (const KVCacheGroup& group : config.kv_cache_config.groups) {
    const GroupParameters parameters{.group = static_cast<std::int32_t>(managers_.size()),
                                     .block_size = group.block_size(),
                                     .hash_block_size = config.hash_block_size};
    if (const auto* mamba = std::get_if<MambaSpec>(&group.spec))
      managers_.emplace_back(MambaManager(mamba_config(config, parameters, *mamba)));
    else
      managers_.emplace_back(
          FullAttentionManager({.parameters = parameters,
                                .drops_eagle_block = coordinator_.is_eagle_group(parameters.group),
                                .policies = config.policies}));
  }
}

MambaManagerConfig KVCacheManager::mamba_config(const KVCacheManagerConfig& config,
                                                const GroupParameters& parameters,
                                                const MambaSpec& spec) const {
  const PrefillCheckpoint checkpoint = config.policies.get<PrefillCheckpoint>();
  return {.parameters = parameters,
          .mamba_cache_mode = spec.mamba_cache_mode,
          .num_speculative_blocks = spec.num_speculative_blocks,
          .retention = {.interval = config.retention_interval,
                        .boundaries = config.policies.get<ReachableBoundaries>(),
                        .scheduler_block_size = config.scheduler_block_size,
                        .hit_alignment = coordinator_.hit_alignment(),
                        .eagle_block_drop = coordinator_.any_eagle_group()},
          .drops_eagle_block = coordinator_.is_eagle_group(parameters.group),
          .shared_prefix_checkpoint = config.mamba_shared_prefix_checkpoint,
          .has_prefill_checkpoint_blocks = spec.num_prefill_checkpoint_blocks > 0,
          .prefill_checkpoint_alignment = spec.prefill_checkpoint_alignment,
          .replay = {.eagle_block_drop = config.use_eagle,
                     .num_hash_lookahead_tokens = config.num_hash_lookahead_tokens,
                     .leaves_a_token_with_drop = checkpoint == PrefillCheckpoint::every_chunk ||
                                                 checkpoint == PrefillCheckpoint::last_chunk},
          .policies = config.policies};
}

void KVCacheManager::new_step_starts() {
  for (Manager& manager : managers_)
    std::visit([](auto& group_manager) { group_manager.new_step_starts(); }, manager);
}

Status KVCacheManager::check_request(const RequestCacheView& request) const {
  if (request.id.value < 0) return invalid_input(name_of(request.id) + " is not a request id");
  // num_computed_tokens is negative where a stale frame has taken off too many (known bug 17).
  if (request.num_tokens < 0)
    return invalid_input(name_of(request.id) + ": num_tokens " +
                         std::to_string(request.num_tokens) + " must not be negative");
  const auto num_hashes = static_cast<std::size_t>(
      std::max(request.num_tokens - num_hash_lookahead_tokens_, 0) / hash_block_size_);
  if (enable_caching_ && request.block_hashes.size() < num_hashes)
    return invalid_input(name_of(request.id) + ": " + std::to_string(request.num_tokens) +
                         " tokens need " + std::to_string(num_hashes) + " block hashes, got " +
                         std::to_string(request.block_hashes.size()));
  return Ok{};
}

Result<CacheHit> KVCacheManager::get_computed_blocks(const RequestCacheView& request) const {
  if (const Status checked = check_request(request); !checked) return checked.error();
  // The last token is always computed: its logits are needed.
  return coordinator_.find_longest_cache_hit(pool_, request.block_hashes,
                                             std::max(request.num_tokens - 1, 0));
}

void KVCacheManager::cache_computed_blocks(const RequestCacheView& request,
                                           std::int32_t num_tokens) {
  const std::int32_t slot = slot_of(request.id);
  if (!enable_caching_ || slot < 0) return;
  cache_blocks(request, slot, num_tokens);
  publish();
}

void KVCacheManager::free(RequestId request) {
  const std::int32_t slot = slot_of(request);
  if (slot < 0) return;
  for (std::size_t group = 0; group < managers_.size(); ++group)
    free_table(edit(request, slot, group));
  release_slot(request);
}

KVCacheManager::DeferredBlocks KVCacheManager::take_blocks(RequestId request) {
  DeferredBlocks taken{request, std::vector<std::vector<std::int32_t>>(managers_.size())};
  const std::int32_t slot = slot_of(request);
  if (slot < 0) return taken;
  for (std::size_t group = 0; group < managers_.size(); ++group)
    defer_table(edit(request, slot, group), taken.block_ids[group]);
  release_slot(request);
  return taken;
}

void KVCacheManager::free_blocks(const DeferredBlocks& blocks) {
  for (std::size_t group = 0; group < blocks.block_ids.size(); ++group) {
    const BlockOwner owner{blocks.request, static_cast<std::int32_t>(group)};
    for (const std::int32_t block : blocks.block_ids[group])
      pool_.record({.kind = CacheEventKind::free_due,
                    .group = owner.group,
                    .request = owner.request,
                    .block = block});
    pool_.free_blocks(blocks.block_ids[group], owner);
  }
}

KVCacheManager::BlockCopies KVCacheManager::take_block_copies() {
  BlockCopies taken;
  for (Manager& manager : managers_) {
    std::vector<PendingCopy>& pending = std::visit(
        [](auto& group_manager) -> std::vector<PendingCopy>& {
          return group_manager.pending_copies();
        },
        manager);
    taken.copies.insert(taken.copies.end(), pending.begin(), pending.end());
    pending.clear();
  }
  for (const PendingCopy& copy : taken.copies) {
    CacheEvent event{.kind = CacheEventKind::copied_from,
                     .group = copy.owner.group,
                     .request = copy.owner.request,
                     .block = copy.source_block};
    pool_.record(event);
    event.kind = CacheEventKind::copied_to;
    event.block = copy.block;
    pool_.record(event);
  }
  return taken;
}

// One after the other, as the reference frees the whole list: keyless blocks first in list become
// the head of the queue.
void KVCacheManager::free_blocks(const BlockCopies& copies) {
  std::vector<std::int32_t> blocks;
  for (const PendingCopy& copy : copies.copies) {
    blocks.push_back(copy.source_block);
    blocks.push_back(copy.block);
  }
  if (!blocks.empty()) pool_.free_blocks(blocks, copies.copies.front().owner);
}

void KVCacheManager::defer(const BlockCopies& copies) {
  record_each(CacheEventKind::free_deferred, copies);
}

void KVCacheManager::free_due(const BlockCopies& copies) {
  record_each(CacheEventKind::free_due, copies);
  free_blocks(copies);
}

// An event for each block of each copy.
void KVCacheManager::record_each(CacheEventKind kind, const BlockCopies& copies) {
  for (const PendingCopy& copy : copies.copies)
    for (const std::int32_t block : {copy.source_block, copy.block})
      pool_.record(
          {.kind = kind, .group = copy.owner.group, .request = copy.owner.request, .block = block});
}

bool KVCacheManager::reset_prefix_cache() { return pool_.reset_prefix_cache(); }

Status KVCacheManager::evict_blocks(std::span<const std::int32_t> block_ids) {
  for (const std::int32_t block : block_ids)
    if (block < 0 || block >= pool_.num_blocks())
      return invalid_input("block " + std::to_string(block) + " is not one of the " +
                           std::to_string(pool_.num_blocks()) + " blocks");
  pool_.evict_blocks(block_ids);
  return Ok{};
}

std::vector<std::int32_t> KVCacheManager::get_num_common_prefix_blocks(RequestId request) const {
  std::vector<std::int32_t> num_common_prefix_blocks(managers_.size());
  const std::int32_t slot = slot_of(request);
  if (!enable_caching_ || slot < 0) return num_common_prefix_blocks;
  for (std::size_t group = 0; group < managers_.size(); ++group)
    num_common_prefix_blocks[group] = std::visit(
        [&](const auto& manager) {
          return manager.get_num_common_prefix_blocks(pool_, table(slot, group), num_tables_);
        },
        managers_[group]);
  return num_common_prefix_blocks;
}

std::pair<std::int32_t, std::int32_t> KVCacheManager::checkpoint(RequestId request,
                                                                 std::int32_t group) const {
  HS_EXPECT(group >= 0 && group < num_groups());
  const RequestTable& list = table(slot_of(request), static_cast<std::size_t>(group));
  return {list.checkpoint_position, list.checkpoint_column};
}

std::span<const std::int32_t> KVCacheManager::block_ids(RequestId request,
                                                        std::int32_t group) const {
  HS_EXPECT(group >= 0 && group < num_groups());
  return table(slot_of(request), static_cast<std::size_t>(group)).block_ids;
}

std::int32_t KVCacheManager::slot_of(RequestId request) const {
  const auto index = static_cast<std::size_t>(request.value);
  return request.value >= 0 && index < slot_of_request_.size() ? slot_of_request_[index] : -1;
}

std::int32_t KVCacheManager::acquire_slot(RequestId request) {
  const auto index = static_cast<std::size_t>(request.value);
  if (index >= slot_of_request_.size()) slot_of_request_.resize(index + 1, -1);
  if (free_slots_.empty()) {
    free_slots_.push_back(num_tables_);
    tables_.resize(tables_.size() + managers_.size());
  }
  const std::int32_t slot = free_slots_.back();
  free_slots_.pop_back();
  slot_of_request_[index] = slot;
  ++num_tables_;
  return slot;
}

void KVCacheManager::release_slot(RequestId request) {
  std::int32_t& slot = slot_of_request_[static_cast<std::size_t>(request.value)];
  free_slots_.push_back(slot);
  slot = -1;
  --num_tables_;
}

TableEdit KVCacheManager::edit(RequestId request, std::int32_t slot, std::size_t group) {
  return {.pool = pool_,
          .table = tables_[static_cast<std::size_t>(slot) * managers_.size() + group],
          .owner = {.request = request, .group = static_cast<std::int32_t>(group)}};
}

const RequestTable& KVCacheManager::table(std::int32_t slot, std::size_t group) const {
  return slot < 0 ? no_table_ : tables_[static_cast<std::size_t>(slot) * managers_.size() + group];
}

}  // namespace hybridscope
