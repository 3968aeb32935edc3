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

}  // namespace hybridscope
