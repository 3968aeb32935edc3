// Turns an engine's settings into those of the scheduler and its KV cache, and into the CUDA graphs
// that it starts with.
#pragma once

#include "core/base/result.h"
#include "core/caching/kv_cache_manager.h"
#include "core/engine/engine_config.h"
#include "core/engine/scheduler.h"
#include "core/metadata/capture_sizes.h"
#include "core/metadata/graph_padding.h"

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

// The CUDA graph mode and capture sizes that an engine starts with
// (semantics: resolve-cudagraph-mode, capture-sizes).

// The least support for full graphs among the metadata builders of all groups.
AttentionCGSupport min_cg_support(const EngineConfig& config);

// Resolves the requested mode and sizes, and lists each correction. Errors: those of
// make_cudagraph_capture_sizes and resolve_cudagraph_mode_and_sizes.
Result<CudagraphResolution> resolve_cudagraphs(const EngineConfig& config);

// What is captured then. `cudagraphs` must outlive it.
CudagraphDispatchConfig captured_graphs(const EngineConfig& config,
                                        const CudagraphResolution& cudagraphs);

}  // namespace hybridscope
