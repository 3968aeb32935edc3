// All user settings, under vLLM's names. An empty optional is a setting that was not set; its
// default is in the table (sessions/scenario/settings_table.h) or follows from the model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/engine_config.h"
#include "core/engine/releases.h"
#include "core/metadata/cudagraph_mode.h"
#include "core/model/kv_cache_spec.h"
#include "core/model/state_shape.h"
#include "sessions/scenario/engine_profile.h"
#include "sessions/startup/startup_settings.h"

namespace hybridscope {

// Dtype names as in vLLM's cache settings; automatic is "auto".
enum class CacheDtypeName : std::uint8_t { automatic, float16, bfloat16, float32 };
// The dtype of attention's keys and values; automatic is "auto", the model's dtype.
enum class KVCacheDtype : std::uint8_t { automatic, float16, bfloat16, fp8, fp8_e4m3, fp8_e5m2 };

// Place in kGpus.
enum class GpuChoice : std::uint8_t {};

// The retention interval None: every state is kept, whatever the release does by default (vLLM
// config/cache.py, prefix_cache_retention_interval).
inline constexpr std::int32_t kRetainsAll = -1;

struct EngineSettings {
  // Memory.
  std::optional<MambaCacheMode> mamba_cache_mode = {};
  std::optional<std::int32_t> tensor_parallel_size = {};
  std::optional<std::int32_t> pipeline_parallel_size = {};  // 1: stages are not modelled
  std::optional<std::int64_t> kv_cache_memory_bytes = {};
  // The memory of one GPU, from which that of the block pool follows (GpuMemory).
  std::optional<std::int64_t> gpu_memory_bytes = {};
  std::optional<double> gpu_memory_utilization = {};
  std::optional<std::int64_t> weights_memory_bytes = {};
  std::optional<std::int64_t> activation_memory_bytes = {};
  std::optional<std::int32_t> num_gpu_blocks_override = {};
  std::optional<std::int32_t> block_size = {};        // tokens
  std::optional<std::int32_t> mamba_block_size = {};  // tokens; mode all only
  std::optional<std::int32_t> max_model_len = {};     // tokens
  std::optional<KVCacheDtype> kv_cache_dtype = {};
  std::optional<CacheDtypeName> mamba_cache_dtype = {};
  std::optional<CacheDtypeName> mamba_ssm_cache_dtype = {};
  std::optional<ConvStateLayout> ssm_conv_state_layout = {};

  // Scheduler.
  std::optional<std::int32_t> max_num_seqs = {};
  std::optional<std::int32_t> max_num_batched_tokens = {};
  std::optional<std::int32_t> long_prefill_token_threshold = {};
  std::optional<bool> enable_chunked_prefill = {};
  std::optional<bool> enable_prefix_caching = {};
  std::optional<SchedulingPolicy> scheduling_policy = {};
  std::optional<std::int32_t> prefix_cache_retention_interval = {};  // tokens, or kRetainsAll
  std::optional<std::int32_t> prefix_match_unit = {};                // tokens that a hash covers
  std::optional<bool> disable_eagle_block_drop = {};
  std::optional<bool> disable_lookahead_block_hashes = {};
  std::optional<bool> enable_mamba_shared_prefix_checkpoint = {};
  std::optional<double> watermark = {};
  std::optional<bool> scheduler_reserve_full_isl = {};
  std::optional<bool> async_scheduling = {};
  std::optional<bool> kv_consumer = {};
  std::optional<std::int32_t> data_parallel_size = {};

  // Worker.
  std::optional<ModelRunner> runner = {};
  std::optional<AttentionBackend> attention_backend = {};
  std::optional<GdnPrefillBackend> gdn_prefill_backend = {};
  std::optional<GpuChoice> gpu = {};  // decides what a release chooses where nothing is set
  std::optional<EntryPoint> entry_point = {};

  // Speculation.
  std::optional<SpeculativeMethod> speculative_method = {};  // default with K > 0: mtp
  std::optional<std::int32_t> num_speculative_tokens = {};   // K
  std::optional<double> acceptance_rate = {};
  std::optional<std::int64_t> seed = {};

  // CUDA graphs.
  std::optional<OptimizationLevel> optimization_level = {};
  std::optional<CUDAGraphMode> cudagraph_mode = {};
  std::optional<std::vector<std::int32_t>> cudagraph_capture_sizes = {};  // tokens
  std::optional<std::int32_t> max_cudagraph_capture_size = {};            // tokens

  // Layers of each recurrent group whose state is kept in bytes; empty: all. The engine does not
  // use it.
  std::optional<std::int32_t> state_layers = {};

  // Simulated time of a step, in microseconds.
  std::optional<std::int64_t> step_cost_base_us = {};
  std::optional<std::int64_t> step_cost_per_token_us = {};

  std::optional<EngineProfile> engine = {};
  PolicyOverrides policies;  // overrides of the profile
  friend bool operator==(const EngineSettings&, const EngineSettings&) = default;
};

// The GPU that a start is planned for: the given one, or an H100.
const Gpu& resolved_gpu(const EngineSettings& settings);

// The policies of the profile (default: safe) with the overrides applied.
PolicySet resolve_policies(const EngineSettings& settings);

// The release whose profile is set; empty for other profiles.
std::optional<Release> release_of(const EngineSettings& settings);

// Does mode align need a block to fit a step? Later releases cross a wider one in chunks
// (vLLM config/vllm.py, validate_block_size).
bool needs_block_in_batch(const EngineSettings& settings);

// What a release chooses by itself where the settings say nothing (engine_setup.h). Caching is
// empty where it is on, or off in mode none (choose_mamba_cache_mode).
std::optional<bool> resolved_prefix_caching(const EngineSettings& settings);
bool resolved_all_by_default(const EngineSettings& settings);
std::optional<std::int32_t> resolved_retention_interval(const EngineSettings& settings);

// The profile's name if no override changes a policy; otherwise "safe" or "reference" if all
// policies equal theirs, else "mixed".
std::string profile_name(const EngineSettings& settings);

// K; default 0.
std::int32_t resolved_num_speculative_tokens(const EngineSettings& settings);

// The method: none without K; mtp if only K is set.
SpeculativeMethod resolved_speculative_method(const EngineSettings& settings);

// Why scheduling is asynchronous or not.
enum class AsyncReason : std::uint8_t {
  requested,            // set by the user
  supported,            // the default, because nothing prevents it
  method_not_supported  // not with the method, on the runner or in the release
};

struct AsyncChoice {
  bool async_scheduling = false;
  AsyncReason reason = AsyncReason::supported;
  friend bool operator==(const AsyncChoice&, const AsyncChoice&) = default;
};

// Default: on, except for methods that asynchronous scheduling does not support (semantics:
// async-scheduling-default).
AsyncChoice resolved_async_scheduling(const EngineSettings& settings);

// Default: the release's, else V1, which the reference uses for every hybrid model; its V2 list
// only has architectures whose layers are all attention.
ModelRunner resolved_runner(const EngineSettings& settings);

// Default: O2.
OptimizationLevel resolved_optimization_level(const EngineSettings& settings);

// What is left of a GPU's memory for blocks: gpu_memory_requested - weights - activations. vLLM
// measures the last two at start-up (determine_available_memory); here they are given.
struct GpuMemory {
  std::int64_t total = 0;
  double utilization = 0.92;
  std::int64_t requested = 0;  // ceil(total * utilization) (v1/worker/utils.py request_memory)
  std::int64_t weights = 0;
  std::int64_t activations = 0;  // peak of activations, CUDA graphs, what else is no KV cache
  std::int64_t left() const { return requested - weights - activations; }
};
// Empty without gpu_memory_bytes.
std::optional<GpuMemory> resolved_gpu_memory(const EngineSettings& settings);

// Two settings that are valid alone but not together.
struct SettingConflict {
  std::string setting;  // path as in setting_path: "max_num_seqs", "step_cost/base_us"
  std::string message;  // starts with the setting's name and gives the numbers
};

// Conflicts that can be found without the model: a method without K or K without a method, a method
// that asynchronous scheduling or the runner does not support, K + 1 above block_size, no capture
// size, limits of mode align, a threshold that no request can use. Rules: K + 1 <= B and the limits
// of align (semantics: cache-mode-limits), the threshold (semantics: padded-prompt), ngram and
// asynchronous scheduling (semantics: async-scheduling-default).
std::optional<SettingConflict> find_setting_conflict(const EngineSettings& settings);

}  // namespace hybridscope
