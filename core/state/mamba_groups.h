// The recurrent groups of a KV cache, which all have one spec.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/model/kv_cache_spec.h"

namespace hybridscope {

struct MambaGroups {
  std::vector<std::int32_t> group_ids;  // KV cache group numbers, ascending
  MambaSpec spec;
};

// get_mamba_groups (semantics: get-mamba-groups). Errors: no group with a MambaSpec, or different
// ones.
Result<MambaGroups> get_mamba_groups(const KVCacheConfig& kv_cache_config);

// Entries of MambaCopyBuffers (semantics: mamba-copy-buffers): one request may copy each state of
// each layer once.
struct CopyBufferShape {
  std::int32_t max_num_reqs = 0;
  std::int32_t num_mamba_layers = 0;  // over all mamba groups
  std::int32_t num_state_types = 0;   // states a layer
};
std::int64_t copy_buffer_capacity(const CopyBufferShape& shape);

}  // namespace hybridscope
