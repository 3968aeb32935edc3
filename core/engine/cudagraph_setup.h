// The CUDA graph mode and capture sizes that an engine starts with
// (semantics: resolve-cudagraph-mode, capture-sizes).
#pragma once

#include "core/base/result.h"
#include "core/engine/engine_config.h"
#include "core/metadata/capture_sizes.h"
#include "core/metadata/graph_padding.h"

namespace hybridscope {

// The least support for full graphs among the metadata builders of all groups.
AttentionCGSupport min_cg_support(const EngineConfig& config);

// Resolves the requested mode and sizes, and lists each correction. Errors: those of
// make_cudagraph_capture_sizes and resolve_cudagraph_mode_and_sizes.
Result<CudagraphResolution> resolve_cudagraphs(const EngineConfig& config);

// What is captured then. `cudagraphs` must outlive it.
CudagraphDispatchConfig captured_graphs(const EngineConfig& config,
                                        const CudagraphResolution& cudagraphs);

}  // namespace hybridscope
