#include "sessions/startup/startup_settings.h"

#include <algorithm>

namespace hybridscope {
const Gpu* find_gpu(std::string_view name) {
  if (name.starts_with("rtx") && name != "rtxpro6000") name.remove_prefix(3);
  const auto found = std::ranges::find(kGpus, name, &Gpu::name);
  return found == kGpus.end() ? nullptr : &*found;
}

BatchDefaults batch_defaults(Release release, const Gpu& gpu, EntryPoint entry_point) {
  const bool serves = entry_point == EntryPoint::serve;
  const bool is_gb10 = gpu.compute_capability == 121;
  if (release >= since::kLargeGpuDefaults && gpu.memory_gib >= 160) return {1024, 16384};
  if (gpu.memory_gib >= 70 && gpu.product.find("A100") == std::string_view::npos &&
      !(is_gb10 && release >= since::kSmallGb10Defaults))
    return {1024, serves ? 8192 : 16384};
  return {256, serves ? 2048 : 8192};
}

}  // namespace hybridscope
