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
      return invalid_input(
          "KV cache group " + std::to_string(i) +
          " has another spec than the mamba group before it, expected one for all");
    }
    result.group_ids.push_back(static_cast<std::int32_t>(i));
  }
  if (result.group_ids.empty()) return invalid_input("the model has no recurrent layer");
  return result;
}

}  // namespace hybridscope
