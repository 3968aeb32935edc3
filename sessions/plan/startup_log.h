// The lines about sizes that a release of vLLM logs when it starts (vLLM platforms/interface.py
// _align_hybrid_block_size, v1/core/kv_cache_utils.py).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/engine/releases.h"
#include "sessions/scenario/engine_setup.h"

namespace hybridscope {

// Blocks that vLLM counts for a request of max_model_len tokens: over all groups
// ceil(max_memory_usage_bytes / page). It is not what a request holds at its peak: states that are
// kept for reuse in mode all, or until a frame returns, may be more.
std::int64_t blocks_of_longest_request(const ModelLayout& layout);

// In the order in which they are logged, without time and place.
std::vector<std::string> start_up_log(const EngineSetup& setup, Release release);

}  // namespace hybridscope
