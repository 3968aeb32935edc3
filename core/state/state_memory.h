// The memory layout of a model's recurrent state: `num_buffers` buffers of num_blocks pages
// each. Buffer i serves layer i of every group, as one block id belongs to one group at a time. A
// page begins with the layer's states, one right after the other; its rest is padding (vLLM
// v1/worker/gpu_model_runner.py, _reshape_kv_cache_tensors).
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/model/kv_cache_spec.h"
#include "core/state/state_layout.h"
#include "core/state/state_tensor.h"

namespace hybridscope {

struct StateMemory {
  MambaStateTensors tensors;                // every layer of every mamba group
  StateLayout layout;                       // of these tensors
  std::vector<std::int32_t> layer_buffers;  // [layers] the buffer that holds a layer
  std::vector<std::int64_t> state_offsets;  // [num_state_types] bytes from the start of a page
  std::int32_t num_buffers = 0;
  std::int32_t num_blocks = 0;
  std::int64_t page_size_bytes = 0;
  std::int32_t conv_kernel = 0;  // W

  std::int64_t buffer_bytes() const { return num_blocks * page_size_bytes; }
  std::int64_t total_bytes() const { return num_buffers * buffer_bytes(); }
};

struct StateMemoryOptions {
  ConvStateLayout conv_state_layout = ConvStateLayout::SD;
  std::int32_t conv_kernel = 4;  // W
  std::int32_t max_layers = 0;   // of each group, its first ones; 0: all
};

// Error: no mamba group, groups whose specs differ, states that do not fit their page, a state that
// does not begin at a multiple of its element size, sizes beyond 2^62 bytes.
Result<StateMemory> make_state_memory(const KVCacheConfig& config,
                                      const StateMemoryOptions& options);

// The recurrent groups of a KV cache, which all have one spec.

struct MambaGroups {
  std::vector<std::int32_t> group_ids;  // KV cache group numbers, ascending
  MambaSpec spec;
};

// get_mamba_groups (semantics: get-mamba-groups). Errors: no group with a MambaSpec, or different
// ones.
Result<MambaGroups> get_mamba_groups(const KVCacheConfig& kv_cache_config);

}  // namespace hybridscope
