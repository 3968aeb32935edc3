// The CUDA graph mode and capture sizes that an engine starts with
// (semantics: resolve-cudagraph-mode, capture-sizes).
#pragma once

#include "core/base/result.h"
#include "core/engine/engine_config.h"
#include "core/metadata/capture_sizes.h"

namespace hybridscope {

// Least of what the metadata builders of all groups can do in a full graph.
AttentionCGSupport min_cg_support(const EngineConfig& config);

// What becomes of the mode and sizes asked for, with each correction. Errors: those of
// make_cudagraph_capture_sizes and resolve_cudagraph_mode_and_sizes.
Result<CudagraphResolution> resolve_cudagraphs(const EngineConfig& config);

}  // namespace hybridscope
