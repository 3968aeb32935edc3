#include "sessions/explain/explain_names.h"

#include <fmt/format.h>

#include <vector>

#include "core/model/model_layout.h"

namespace hybridscope {

Names make_names(const KVCacheConfig& config, std::function<std::string(RequestId)> request) {
  std::vector<std::string> groups;
  MambaCacheMode mode = MambaCacheMode::align;
  for (const KVCacheGroup& group : config.groups) {
    const auto* mamba = std::get_if<MambaSpec>(&group.spec);
    groups.push_back(
        fmt::format("group {} ({})", groups.size(),
                    mamba != nullptr ? mamba_type_name(mamba->mamba_type) : "attention"));
    if (mamba != nullptr) mode = mamba->mamba_cache_mode;
  }
  const auto group_name = [groups](std::int32_t group) {
    const auto index = static_cast<std::size_t>(group);
    return group >= 0 && index < groups.size() ? groups[index] : fmt::format("group {}", group);
  };
  return {.request = std::move(request), .group = group_name, .mamba_cache_mode = mode};
}

Names numbered_names() {
  return {.request = [](RequestId request) { return fmt::format("r{}", request.value); },
          .group = [](std::int32_t group) { return fmt::format("group {}", group); },
          .mamba_cache_mode = MambaCacheMode::align};
}

}  // namespace hybridscope
