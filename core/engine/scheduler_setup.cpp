#include "core/engine/scheduler_setup.h"

#include <algorithm>

#include "core/caching/hybrid_coordinator_policies.h"
#include "core/caching/mamba_manager_policies.h"

namespace hybridscope {
namespace {

// The draft model of an MTP method follows EAGLE's rules.
bool use_eagle(const EngineConfig& config) {
  return config.speculative_method == SpeculativeMethod::mtp;
}

// Is the last block of a hit computed again for the draft model?
bool eagle_block_drop(const EngineConfig& config) {
  return use_eagle(config) && !config.disable_eagle_block_drop &&
         num_hash_lookahead_tokens(config) == 0;
}

// N-grams are looked up: they have no keys and values.
std::int32_t num_lookahead_tokens(const EngineConfig& config) {
  return use_eagle(config) || config.speculative_method == SpeculativeMethod::draft_model
             ? config.num_speculative_tokens
             : 0;
}

// Are the layers' kernels able to store a state inside a prefill, in every mamba group?
bool all_mamba_groups_checkpoint(const EngineConfig& config) {
  return std::ranges::all_of(config.kv_cache_config.groups, [](const KVCacheGroup& group) {
    const auto* mamba = std::get_if<MambaSpec>(&group.spec);
    return mamba == nullptr || mamba->num_prefill_checkpoint_blocks > 0;
  });
}

std::int32_t checkpoint_alignment(const EngineConfig& config) {
  for (const KVCacheGroup& group : config.kv_cache_config.groups)
    if (const auto* mamba = std::get_if<MambaSpec>(&group.spec))
      return mamba->prefill_checkpoint_alignment;
  return 0;
}

// Are junctions registered exactly where they are? Only for the draft model's sake.
bool registers_junctions(const EngineConfig& config) {
  const auto flagged = [](const KVCacheGroup& group) { return group.is_eagle_group; };
  return config.enable_mamba_shared_prefix_checkpoint && hits_end_inside_blocks(config) &&
         (eagle_block_drop(config) || std::ranges::any_of(config.kv_cache_config.groups, flagged));
}

// Does a prompt stop where its last hash block ends, inside a block?
bool stops_inside_blocks(const EngineConfig& config) {
  const PolicySet& policies = config.policies;
  if (policies.is(HitsInsideBlocks::stopping_at_hash_blocks))
    return config.hash_block_size < config.scheduler_block_size;
  return hits_end_inside_blocks(config);
}

}  // namespace

bool hits_end_inside_blocks(const EngineConfig& config) {
  return config.enable_prefix_caching &&
         hits_end_inside_blocks(config.kv_cache_config.groups, config.hash_block_size,
                                config.policies);
}

std::int32_t num_hash_lookahead_tokens(const EngineConfig& config) {
  const bool wanted = config.policies.is(EagleProof::look_ahead_hashes) && use_eagle(config) &&
                      config.enable_prefix_caching && !config.disable_eagle_block_drop &&
                      !config.disable_lookahead_block_hashes && !config.kv_consumer;
  return wanted ? 1 : 0;
}

SchedulerConfig scheduler_config(const EngineConfig& config) {
  bool has_mamba = false;
  for (const KVCacheGroup& group : config.kv_cache_config.groups)
    has_mamba = has_mamba || group.is_mamba();
  return {.max_num_seqs = config.max_num_seqs,
          .max_model_len = config.max_model_len,
          .long_prefill_token_threshold = config.long_prefill_token_threshold,
          .enable_chunked_prefill = config.enable_chunked_prefill,
          .scheduler_reserve_full_isl = config.scheduler_reserve_full_isl,
          .policy = config.scheduling_policy,
          .num_speculative_tokens = config.num_speculative_tokens,
          .num_lookahead_tokens = num_lookahead_tokens(config),
          // A draft model reads one token more than it drafts.
          .num_draft_slots = config.speculative_method == SpeculativeMethod::draft_model ? 1 : 0,
          .block_aligned_split = has_mamba && config.mamba_cache_mode == MambaCacheMode::align,
          .has_mamba_groups = has_mamba,
          .aligned_split = aligned_split_settings(config),
          .runner_v2 = config.runner == ModelRunner::v2,
          .async_scheduling = config.async_scheduling,
          .defer_frees = config.async_scheduling && config.kv_consumer};
}

AlignedSplitSettings aligned_split_settings(const EngineConfig& config) {
  const std::int32_t threshold = config.long_prefill_token_threshold;
  return {.block_size = config.block_size,
          .hash_block_size = config.hash_block_size,
          .scheduler_block_size = config.scheduler_block_size,
          .fine_grained_hits = stops_inside_blocks(config),
          .use_eagle = use_eagle(config),
          .eagle_block_drop = eagle_block_drop(config),
          .num_hash_lookahead_tokens = num_hash_lookahead_tokens(config),
          .has_prefill_checkpoint_blocks = all_mamba_groups_checkpoint(config),
          .prefill_checkpoint_alignment = checkpoint_alignment(config),
          .shared_prefix_checkpoint = registers_junctions(config),
          .checkpoint_start = config.policies.get<CheckpointStart>(),
          .max_tokens_a_step = threshold > 0 ? std::min(config.max_num_batched_tokens, threshold)
                                             : config.max_num_batched_tokens};
}

KVCacheManagerConfig kv_cache_manager_config(const EngineConfig& config) {
  return {.kv_cache_config = config.kv_cache_config,
          .max_model_len = config.max_model_len,
          .enable_caching = config.enable_prefix_caching,
          .use_eagle = eagle_block_drop(config),
          .num_hash_lookahead_tokens = num_hash_lookahead_tokens(config),
          .mamba_shared_prefix_checkpoint = registers_junctions(config),
          .scheduler_block_size = config.scheduler_block_size,
          .hash_block_size = config.hash_block_size,
          .watermark = config.watermark,
          .retention_interval = config.prefix_cache_retention_interval,
          .policies = config.policies};
}

}  // namespace hybridscope
