// Turns an engine's settings into those of the scheduler and its KV cache.
#pragma once

#include "core/caching/kv_cache_manager.h"
#include "core/engine/engine_config.h"
#include "core/engine/scheduler.h"

namespace hybridscope {

// Mode align ends chunks on block boundaries if a group of layers is recurrent
// (semantics: aligned-split).
SchedulerConfig scheduler_config(const EngineConfig& config);

// Tokens that a block's hash covers besides its own (semantics: look-ahead-hashes).
std::int32_t num_hash_lookahead_tokens(const EngineConfig& config);

// Can a hit end inside a block?
bool hits_end_inside_blocks(const EngineConfig& config);

AlignedSplitSettings aligned_split_settings(const EngineConfig& config);

KVCacheManagerConfig kv_cache_manager_config(const EngineConfig& config);

}  // namespace hybridscope
