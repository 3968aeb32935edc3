#include "sessions/startup/startup_settings.h"

#include <algorithm>
#include <iterator>

namespace hybridscope {
namespace {

// As drivers report them; memory is what is usable.
constexpr Gpu kGpus[] = {
    {"h100", "NVIDIA H100 80GB HBM3", 90, 79.6},
    {"h200", "NVIDIA H200", 90, 140.4},
    {"gh200", "NVIDIA GH200 480GB", 90, 94.5},
    {"b200", "NVIDIA B200", 100, 178.4},
    {"b300", "NVIDIA B300 SXM6 AC", 103, 267.7},
    {"a100", "NVIDIA A100-SXM4-80GB", 80, 79.3},
    {"a100-40gb", "NVIDIA A100-SXM4-40GB", 80, 39.4},
    {"a10", "NVIDIA A10", 86, 22.1},
    {"l4", "NVIDIA L4", 89, 22.0},
    {"l40s", "NVIDIA L40S", 89, 44.5},
    {"rtx3090", "NVIDIA GeForce RTX 3090", 86, 23.6},
    {"rtx4090", "NVIDIA GeForce RTX 4090", 89, 23.5},
    {"rtx5090", "NVIDIA GeForce RTX 5090", 120, 31.4},
    {"rtxpro6000", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 120, 95.0},
    {"gb10", "NVIDIA GB10", 121, 119.7},
};

}  // namespace

std::span<const Gpu> known_gpus() { return kGpus; }

const Gpu* find_gpu(std::string_view name) {
  const auto* found = std::ranges::find(kGpus, name, &Gpu::name);
  return found == std::end(kGpus) ? nullptr : found;
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
