// The functions that recompute each kind of vector file (vector_kinds.h, Recompute), by source
// file, and the engine settings that several of them read.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/engine/engine_config.h"
#include "core/engine/releases.h"
#include "sessions/conformance/vector_kinds.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

// recompute_state.cpp
nlohmann::json recompute_state_shapes(const VectorCase& vector, const VectorKernels& kernels);
nlohmann::json recompute_state_dtypes(const VectorCase& vector, const VectorKernels& kernels);
nlohmann::json recompute_block_sizes(const VectorCase& vector, const VectorKernels& kernels);
// recompute_builders.cpp
nlohmann::json recompute_split_batch(const VectorCase& vector, const VectorKernels& kernels);
nlohmann::json recompute_split_batch_v2(const VectorCase& vector, const VectorKernels& kernels);
nlohmann::json recompute_block_table_gather(const VectorCase& vector, const VectorKernels& kernels);
nlohmann::json recompute_prefix_block_indices(const VectorCase& vector,
                                              const VectorKernels& kernels);
nlohmann::json recompute_mamba_aligned_split(const VectorCase& vector,
                                             const VectorKernels& kernels);
nlohmann::json recompute_varlen_chunks(const VectorCase& vector, const VectorKernels& kernels);
nlohmann::json recompute_conv1d_metadata(const VectorCase& vector, const VectorKernels& kernels);
nlohmann::json recompute_fla_chunks(const VectorCase& vector, const VectorKernels& kernels);
// recompute_builders.cpp
nlohmann::json recompute_mamba_builder(const VectorCase& vector, const VectorKernels& kernels);
nlohmann::json recompute_mamba2_builder(const VectorCase& vector, const VectorKernels& kernels);
nlohmann::json recompute_gdn_builder(const VectorCase& vector, const VectorKernels& kernels);
// recompute_state.cpp
nlohmann::json recompute_copy_specs(const VectorCase& vector, const VectorKernels& kernels);
nlohmann::json recompute_ctx_init(const VectorCase& vector, const VectorKernels& kernels);
nlohmann::json recompute_stage_inputs(const VectorCase& vector, const VectorKernels& kernels);
nlohmann::json recompute_all_mode(const VectorCase& vector, const VectorKernels& kernels);
// recompute_align.cpp
nlohmann::json recompute_preprocess_align(const VectorCase& vector, const VectorKernels& kernels);
nlohmann::json recompute_precopy_align(const VectorCase& vector, const VectorKernels& kernels);
// recompute_align.cpp
nlohmann::json recompute_postprocess_align(const VectorCase& vector, const VectorKernels& kernels);
// recompute_kv_cache.cpp
nlohmann::json recompute_kv_cache_manager(const VectorCase& vector, const VectorKernels& kernels);
nlohmann::json recompute_cache_hits(const VectorCase& vector, const VectorKernels& kernels);
// recompute_release_scheduler.cpp
nlohmann::json recompute_release_scheduler(const VectorCase& vector, const VectorKernels& kernels);
// recompute_releases.cpp
nlohmann::json recompute_release_builders(const VectorCase& vector, const VectorKernels& kernels);
// recompute_releases.cpp
nlohmann::json recompute_release_graphs(const VectorCase& vector, const VectorKernels& kernels);
// recompute_release_worker.cpp
nlohmann::json recompute_release_worker(const VectorCase& vector, const VectorKernels& kernels);
// recompute_releases.cpp
nlohmann::json recompute_release_split(const VectorCase& vector, const VectorKernels& kernels);
// recompute_scheduler.cpp
nlohmann::json recompute_scheduler(const VectorCase& vector, const VectorKernels& kernels);
nlohmann::json recompute_pipeline(const VectorCase& vector, const VectorKernels& kernels);

// Reads `config` of the caching and scheduling vectors as engine settings.

// Groups, sizes and flags of the KV cache; profile `reference`. Settings that cache_hits vectors
// lack get values that limit nothing: caching on, no watermark, any length.
EngineConfig read_cache_config(const JsonValue& config);

// Reads the cache's settings and those of the scheduler.
EngineConfig read_scheduler_config(const JsonValue& config);

// The settings of a run of an installed release, with its policies.
EngineConfig read_release_config(const JsonValue& config, Release release);

// The settings of a run of a release's worker alone, with its policies.
EngineConfig read_release_worker_config(const JsonValue& config, Release release);

// Throws when the answers to all calls, many of which list every block, would be larger than any
// vector file.
void check_pool_size(const JsonValue& config, const JsonValue& calls);

}  // namespace hybridscope
