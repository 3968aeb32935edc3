// Makes the EngineConfig that an engine starts with from a model and the user's settings, and from
// what each release of vLLM chooses where nothing is set.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/engine/engine_config.h"
#include "core/engine/releases.h"
#include "core/metadata/capture_sizes.h"
#include "core/model/model_layout.h"
#include "sessions/scenario/scenario.h"
#include "sessions/scenario/scenario_requests.h"
#include "sessions/scenario/settings.h"

namespace hybridscope {

struct EngineSetup {
  ModelLayout layout;  // also explains the sizes
  EngineConfig config;
  CudagraphResolution cudagraphs;  // the result for the requested CUDA graphs
  AsyncReason async_reason = AsyncReason::supported;
  // What the memory of the block pool follows from; empty: it is a setting or the default.
  std::optional<GpuMemory> gpu_memory = {};
  // With the profile of a release: the profile, and what it chose because nothing was set
  // ("runner v2").
  std::string release_profile = {};
  std::vector<std::string> chosen_by_release = {};
};

// `model` is a preset name or the path of a config.json. When the settings name neither memory nor
// blocks, memory is 60 GiB, with at most kMaxDefaultBlocks blocks. Errors: an unknown model; what
// find_setting_conflict finds; a block_size that no attention kernel takes (semantics:
// kernel-block-size); sizes that the model does not allow; what resolve_cudagraphs refuses.
inline constexpr std::int32_t kMaxDefaultBlocks = 1 << 20;
Result<EngineSetup> make_engine_setup(const std::string& model, const EngineSettings& settings);
Result<EngineSetup> make_engine_setup(const ModelSpec& model, const EngineSettings& settings);

// Blocks that vLLM counts for a request of `num_tokens` tokens: over all groups
// ceil(max_memory_usage_bytes / page) (semantics: pool-bound). It is not what a request holds at
// its peak.
std::int64_t blocks_reserved(const ModelLayout& layout, std::int64_t num_tokens);

// Does the release whose profile it is start with this pool and requests of so many tokens, or of
// max_model_len? Other profiles do.
Status check_release_starts(const EngineSetup& setup, std::int64_t num_tokens);
Status check_release_starts(const EngineSetup& setup);

// Does the engine start and serve the request? Error: that of check_request; it needs more blocks
// than the pool has. A release starts with a pool that holds a request of max_model_len by its own
// count, in which a request may still never fit: it is run then (semantics: pool-bound).
Status check_request_fits(const EngineSetup& setup, const AddRequest& request);

// Error "/requests/2: ..." for the first request that check_request_fits refuses. Also what
// Engine::create refuses. `requests`: the scenario's (resolve_requests).
Status check_requests_fit(const Scenario& scenario, std::span<const ArrivingRequest> requests,
                          const EngineSetup& setup);

// What each release of vLLM chooses for a hybrid model where nothing is set, and which settings it
// has (semantics: releases).

// vllm EngineArgs._set_default_chunked_prefill_and_prefix_caching_args, for hybrid models.
bool default_prefix_caching(Release release);

// Does a model that supports mode all run in it if no mode is set? Else, and with other models, it
// is align (vllm MambaModelConfig.verify_and_update_config).
bool default_to_mode_all(Release release);

// The retention interval where none is set; empty: every state is kept.
std::optional<std::int32_t> default_retention_interval(Release release, SpeculativeMethod method);

// `mode`: the cache mode that is asked for; align if none is.
ModelRunner default_runner(Release release, SpeculativeMethod method, MambaCacheMode mode);

bool default_async_scheduling(Release release, ModelRunner runner, SpeculativeMethod method);

// Does the null block count as one that a request can have when the release decides whether its
// pool holds a request of max_model_len (vLLM get_kv_cache_configs)?
bool pool_check_counts_null_block(Release release);

// A setting that the release does not have yet or any more, with the release that brought or
// removed it.
std::optional<SettingConflict> release_conflict(const EngineSettings& settings);

// As they run: the mode that was asked for may be none where caching is off. Method none: no
// drafts.
struct RunnerSettings {
  ModelRunner runner = ModelRunner::v1;
  MambaCacheMode mode = MambaCacheMode::align;
  SpeculativeMethod method = SpeculativeMethod::none;
  bool async_scheduling = false;
};

// What runner V2 of the release does not support (vLLM config/vllm.py,
// _get_v2_model_runner_unsupported_features and __post_init__).
std::optional<SettingConflict> runner_conflict(Release release, const RunnerSettings& settings);

}  // namespace hybridscope
