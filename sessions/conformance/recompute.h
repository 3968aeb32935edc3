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
Recompute recompute_state_shapes, recompute_state_dtypes, recompute_block_sizes;
Recompute recompute_copy_specs, recompute_ctx_init, recompute_stage_inputs, recompute_all_mode;
// recompute_builders.cpp
Recompute recompute_split_batch, recompute_split_batch_v2, recompute_block_table_gather;
Recompute recompute_prefix_block_indices, recompute_mamba_aligned_split;
Recompute recompute_varlen_chunks, recompute_conv1d_metadata, recompute_fla_chunks;
Recompute recompute_mamba_builder, recompute_mamba2_builder, recompute_gdn_builder;
// recompute_align.cpp
Recompute recompute_preprocess_align, recompute_precopy_align, recompute_postprocess_align;
// recompute_kv_cache.cpp
Recompute recompute_kv_cache_manager, recompute_cache_hits;
// recompute_scheduler.cpp
Recompute recompute_scheduler, recompute_pipeline;
// recompute_releases.cpp
Recompute recompute_release_split, recompute_release_builders, recompute_release_graphs;
// recompute_release_scheduler.cpp
Recompute recompute_release_scheduler;
// recompute_release_worker.cpp
Recompute recompute_release_worker;
// recompute_startup.cpp
Recompute recompute_startup;
// What the vector answers, in the form that recompute_startup returns: sizes, groups, refusals and
// the lines about sizes.
nlohmann::json startup_answers(const nlohmann::json& vector);

// Reads `config` of the caching and scheduling vectors as engine settings.

// Groups, sizes and flags of the KV cache; profile `reference`. Settings that cache_hits vectors
// lack get values that limit nothing: caching on, no watermark, any length.
EngineConfig read_cache_config(const JsonValue& config);

// Reads the cache's settings and those of the scheduler.
EngineConfig read_scheduler_config(const JsonValue& config);

// The settings of a run of an installed release, with its policies.
EngineConfig read_release_config(const VectorCase& vector);

// The settings of a run of a release's worker alone, with its policies.
EngineConfig read_release_worker_config(const VectorCase& vector);

ModelRunner read_runner(const JsonValue& config);

// Throws when the answers to all calls, many of which list every block, would be larger than any
// vector file.
void check_pool_size(const JsonValue& config, const JsonValue& calls);

}  // namespace hybridscope
