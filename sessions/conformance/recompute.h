// The functions that recompute each kind of vector file (vector_kinds.h, Recompute), by source
// file.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sessions/conformance/vector_kinds.h"

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

}  // namespace hybridscope
