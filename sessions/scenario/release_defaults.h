// What each release of vLLM chooses for a hybrid model where nothing is set, and which settings it
// has (semantics: releases).
#pragma once

#include <cstdint>
#include <optional>

#include "core/engine/engine_config.h"
#include "core/engine/releases.h"
#include "sessions/scenario/settings.h"

namespace hybridscope {

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
