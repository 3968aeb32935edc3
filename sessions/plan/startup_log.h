// The lines about sizes that a release of vLLM logs when it starts (vLLM platforms/interface.py
// _align_hybrid_block_size, v1/core/kv_cache_utils.py).
#pragma once

#include <string>
#include <vector>

#include "core/engine/releases.h"
#include "sessions/scenario/engine_setup.h"

namespace hybridscope {

// In the order in which they are logged, without time and place.
std::vector<std::string> start_up_log(const EngineSetup& setup, Release release);

}  // namespace hybridscope
