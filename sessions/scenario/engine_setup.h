// Makes the EngineConfig that an engine starts with from a model and the user's settings.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/engine/engine_config.h"
#include "core/metadata/capture_sizes.h"
#include "core/model/model_layout.h"
#include "sessions/scenario/arriving_request.h"
#include "sessions/scenario/scenario.h"
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

// Error "/requests/2: ..." for a request that could never finish: its prompt exceeds max_model_len
// or (without chunked prefill) the token budget, or it needs more blocks than the pool has. Also
// what Engine::create refuses. `requests`: the scenario's (resolve_requests).
Status check_requests_fit(const Scenario& scenario, std::span<const ArrivingRequest> requests,
                          const EngineConfig& config);

}  // namespace hybridscope
