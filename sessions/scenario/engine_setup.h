// From a model and the user's settings to the EngineConfig an engine starts with.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/engine/engine_config.h"
#include "core/metadata/capture_sizes.h"
#include "core/model/model_layout.h"
#include "sessions/scenario/scenario.h"
#include "sessions/scenario/settings.h"

namespace hybridscope {

struct EngineSetup {
  ModelLayout layout;  // why the sizes are what they are
  EngineConfig config;
  CudagraphResolution cudagraphs;  // what the graphs asked for become
  AsyncReason async_reason = AsyncReason::supported;
};

// `model` is a preset name or the path of a config.json. Memory is 60 GiB, cut to kMaxDefaultBlocks
// blocks, when the settings name neither memory nor blocks. Error: an unknown model, what
// find_setting_conflict finds, what the model's sizes do not allow, what resolve_cudagraphs
// refuses.
inline constexpr std::int32_t kMaxDefaultBlocks = 1 << 20;
Result<EngineSetup> make_engine_setup(const std::string& model, const EngineSettings& settings);
Result<EngineSetup> make_engine_setup(const ModelSpec& model, const EngineSettings& settings);

// Error, "/requests/2: ...", when a request could never finish: a prompt that max_model_len or
// (without chunked prefill) the token budget does not hold, or more blocks than the pool has.
Status check_requests_fit(const Scenario& scenario, const EngineConfig& config);

}  // namespace hybridscope
