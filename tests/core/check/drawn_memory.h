// Random shapes of recurrent states in bytes.
#pragma once

#include <functional>
#include <string>

#include "core/check/check_context.h"
#include "core/engine/engine_config.h"
#include "core/state/state_memory.h"

namespace hybridscope::test {

// "none", "all", "align".
std::string mode_name(MambaCacheMode mode);

using Draw = std::function<int(int low, int high)>;  // in [low, high]

struct DrawnMemory {
  StateMemoryOptions options;
  KVCacheConfig config;
};

// Shapes, dtypes, padding, layout and layers of the scenario's mamba groups. Groups may have
// different numbers of layers.
DrawnMemory draw_memory(const EngineConfig& engine, const Draw& in);

// The engine's, with the layers of the memory.
CheckConfig check_config_of(const EngineConfig& engine, const DrawnMemory& memory);

}  // namespace hybridscope::test
