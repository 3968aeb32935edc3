// What a start is asked for: release, GPU, entry point and flags, as vLLM's EngineArgs has them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
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

std::span<const Gpu> known_gpus();
// Null: no GPU has this name.
const Gpu* find_gpu(std::string_view name);

enum class EntryPoint : std::uint8_t { serve, llm };

// The first releases of what a start depends on, read off the packages 0.24.0 to 0.33.0.
namespace since {
inline constexpr Release kPadsStatePages = Release::v0_26_0;  // unify_kv_cache_spec_page_size
inline constexpr Release kInFlightTokens = Release::v0_26_0;  // VllmConfig.max_in_flight_tokens
inline constexpr Release kWideAlignBlocks =
    Release::v0_27_1;  // no assertion on max_num_batched_tokens
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
