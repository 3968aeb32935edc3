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

}  // namespace hybridscope
