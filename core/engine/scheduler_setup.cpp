#include "core/engine/scheduler_setup.h"

namespace hybridscope {
namespace {

// The draft model of an MTP method follows EAGLE's rules.
bool use_eagle(const EngineConfig& config) {
  return config.speculative_method == SpeculativeMethod::mtp;
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
          .use_eagle = use_eagle(config),
          .block_aligned_split = has_mamba && config.mamba_cache_mode == MambaCacheMode::align,
          .has_mamba_groups = has_mamba,
          .block_size = config.block_size,
          .async_scheduling = config.async_scheduling,
          .defer_frees = config.async_scheduling && config.kv_consumer,
          .policies = config.policies};
}

KVCacheManagerConfig kv_cache_manager_config(const EngineConfig& config) {
  return {.kv_cache_config = config.kv_cache_config,
          .max_model_len = config.max_model_len,
          .enable_caching = config.enable_prefix_caching,
          .use_eagle = use_eagle(config),
          .scheduler_block_size = config.scheduler_block_size,
          .hash_block_size = config.hash_block_size,
          .watermark = config.watermark,
          .policies = config.policies.cache};
}

}  // namespace hybridscope
