#include "core/state/mamba_groups.h"

#include <string>

namespace hybridscope {

Result<MambaGroups> get_mamba_groups(const KVCacheConfig& kv_cache_config) {
  MambaGroups result;
  for (std::size_t i = 0; i < kv_cache_config.groups.size(); ++i) {
    const KVCacheGroup& group = kv_cache_config.groups[i];
    if (!group.is_mamba()) continue;
    const auto& spec = std::get<MambaSpec>(group.spec);
    if (result.group_ids.empty()) {
      result.spec = spec;
    } else if (result.spec != spec) {
      return invalid_input("mamba groups " + std::to_string(result.group_ids.front()) + " and " +
                           std::to_string(i) + " have different specs");
    }
    result.group_ids.push_back(static_cast<std::int32_t>(i));
  }
  if (result.group_ids.empty())
    return invalid_input("none of " + std::to_string(kv_cache_config.groups.size()) +
                         " KV cache groups is a mamba group");
  return result;
}

std::int64_t copy_buffer_capacity(const CopyBufferShape& shape) {
  return static_cast<std::int64_t>(shape.max_num_reqs) * shape.num_mamba_layers *
         shape.num_state_types;
}

}  // namespace hybridscope
