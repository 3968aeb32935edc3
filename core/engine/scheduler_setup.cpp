#include "core/engine/scheduler_setup.h"

#include <algorithm>

namespace hybridscope {
namespace {

// The draft model of an MTP method follows EAGLE's rules.
bool use_eagle(const EngineConfig& config) {
  return config.speculative_method == SpeculativeMethod::mtp;
}

// N-grams are looked up: they have no keys and values.
std::int32_t num_lookahead_tokens(const EngineConfig& config) {
  return use_eagle(config) || config.speculative_method == SpeculativeMethod::draft_model
             ? config.num_speculative_tokens
             : 0;
}

}  // namespace

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
          .block_aligned_split = has_mamba && config.mamba_cache_mode == MambaCacheMode::align,
          .has_mamba_groups = has_mamba,
          .aligned_split = aligned_split_settings(config),
          .async_scheduling = config.async_scheduling,
          .defer_frees = config.async_scheduling && config.kv_consumer,
          .policies = config.policies};
}

AlignedSplitSettings aligned_split_settings(const EngineConfig& config) {
  const std::int32_t threshold = config.long_prefill_token_threshold;
  return {.block_size = config.block_size,
          .hash_block_size = config.hash_block_size,
          .scheduler_block_size = config.scheduler_block_size,
          .use_eagle = use_eagle(config),
          .eagle_block_drop = use_eagle(config),
          .max_tokens_a_step = threshold > 0 ? std::min(config.max_num_batched_tokens, threshold)
                                             : config.max_num_batched_tokens};
}

KVCacheManagerConfig kv_cache_manager_config(const EngineConfig& config) {
  return {.kv_cache_config = config.kv_cache_config,
          .max_model_len = config.max_model_len,
          .enable_caching = config.enable_prefix_caching,
          .use_eagle = use_eagle(config),
          .scheduler_block_size = config.scheduler_block_size,
          .hash_block_size = config.hash_block_size,
          .watermark = config.watermark,
          .retention_interval = config.prefix_cache_retention_interval,
          .policies = config.policies.cache};
}

}  // namespace hybridscope
