// What a start is asked for: release, GPU, entry point and flags, as vLLM's EngineArgs has them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/release.h"
#include "core/model/kv_cache_spec.h"

namespace hybridscope {

// A GPU as far as planning depends on it.
struct Gpu {
  std::string_view name;            // "h100"
  std::string_view product;         // as the driver reports it
  std::int32_t compute_capability;  // 90 is 9.0
  double memory_gib;
};

// As drivers report them; memory is what is usable.
inline constexpr std::array<Gpu, 15> kGpus = {{
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
    {"3090", "NVIDIA GeForce RTX 3090", 86, 23.6},
    {"4090", "NVIDIA GeForce RTX 4090", 89, 23.5},
    {"5090", "NVIDIA GeForce RTX 5090", 120, 31.4},
    {"rtxpro6000", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 120, 95.0},
    {"gb10", "NVIDIA GB10", 121, 119.7},
}};

// Null: no GPU has this name.
const Gpu* find_gpu(std::string_view name);

enum class EntryPoint : std::uint8_t { serve, llm };

// The first releases of what a start depends on, read off the packages 0.24.0 to 0.33.0.
namespace since {
inline constexpr Release kPadsStatePages = Release::v0_26_0;  // unify_kv_cache_spec_page_size
inline constexpr Release kInFlightTokens = Release::v0_26_0;  // VllmConfig.max_in_flight_tokens
inline constexpr Release kWideAlignBlocks =
    Release::v0_27_1;  // no assertion on max_num_batched_tokens
inline constexpr Release kKdaShapeHasDrafts = Release::v0_27_1;  // mamba_utils.py kda_state_shape
inline constexpr Release kAllPassNumSpec =
    Release::v0_32_0;  // Granite 4, Falcon-H1 and Zamba2, too
inline constexpr Release kMlaBlocksOf128 = Release::v0_27_1;  // platforms/interface.py
inline constexpr Release kHybridsCache =
    Release::v0_28_0;  // prefix caching on by default, mode align
inline constexpr Release kOneSizeLine = Release::v0_28_0;  // tokens and concurrency in one line
inline constexpr Release kLargeGpuDefaults = Release::v0_28_0;  // 160 GiB and more
inline constexpr Release kDraftWindows = Release::v0_28_0;      // of DFlash draft models
inline constexpr Release kNullBlockReserved = Release::v0_29_0;
inline constexpr Release kDraftBlocks =
    Release::v0_30_0;  // a draft's windows in blocks of the target
inline constexpr Release kPackedGroups = Release::v0_30_0;
inline constexpr Release kModeAllDeprecated = Release::v0_30_0;
inline constexpr Release kFreeKdaDtype = Release::v0_30_0;
inline constexpr Release kNoModeAll = Release::v0_32_0;
inline constexpr Release kMamba2Checkpoints = Release::v0_32_0;
inline constexpr Release kNewAutoFitLine = Release::v0_32_0;
inline constexpr Release kGdnCheckpoints = Release::v0_33_0;
inline constexpr Release kModeFollowsCaching =
    Release::v0_33_0;  // --mamba-cache-mode has no effect
inline constexpr Release kSmallGb10Defaults = Release::v0_33_0;
}  // namespace since

struct StartupSettings {
  Release release = kNewestRelease;
  const Gpu* gpu = nullptr;  // never null when a start is planned
  EntryPoint entry_point = EntryPoint::serve;
  std::int64_t kv_cache_memory_bytes = 0;
  std::int64_t tensor_parallel_size = 1;
  std::string kv_cache_dtype = "auto";
  std::string mamba_cache_dtype = "auto";
  std::string mamba_ssm_cache_dtype = "auto";
  std::optional<bool> enable_prefix_caching = {};
  std::optional<MambaCacheMode> mamba_cache_mode = {};
  std::optional<GdnPrefillBackend> gdn_prefill_backend = {};  // absent: the GPU's
  std::optional<std::int64_t> block_size = {};
  std::optional<std::int64_t> max_model_len = {};  // -1: the longest that fits
  std::optional<std::int64_t> max_num_seqs = {};
  std::optional<std::int64_t> max_num_batched_tokens = {};
  std::optional<std::int64_t> num_gpu_blocks_override = {};
  std::string speculative_method = {};  // empty: none
  std::int64_t num_speculative_tokens = 0;
  bool enforce_eager = false;
  std::string cudagraph_mode = {};  // empty: the default
  bool async_scheduling = true;
};

// max_num_seqs and max_num_batched_tokens where neither is given
// (vLLM engine/arg_utils.py, EngineArgs.get_batch_defaults).
struct BatchDefaults {
  std::int64_t max_num_seqs = 0;
  std::int64_t max_num_batched_tokens = 0;
};
BatchDefaults batch_defaults(Release release, const Gpu& gpu, EntryPoint entry_point);

}  // namespace hybridscope
