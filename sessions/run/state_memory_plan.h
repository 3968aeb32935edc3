// How the state of a run lies in memory when it is kept in bytes, and whether that fits.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/state/state_memory.h"
#include "core/state/step_size.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/scenario/settings.h"

namespace hybridscope {

// The most that state may take. `reason` ends the sentence "more than the 2.0 GiB ...".
struct StateMemoryLimit {
  std::int64_t bytes = 0;
  std::string reason = {};
};

// The memory of the model's recurrent layers, settings.state_layers of each group or all. Errors:
// what make_state_memory refuses, conv windows without room for drafts; not_available when it does
// not fit, with the numbers and the most layers that do.
Result<StateMemory> plan_state_memory(const EngineSetup& setup, const EngineSettings& settings,
                                      const StateMemoryLimit& limit);

// What bounds every step of the engine. Rows: requests, or those of the largest captured graph.
StepLimits step_limits(const EngineSetup& setup);

// Layers of the largest recurrent group.
std::int32_t num_state_layers(const KVCacheConfig& config);

// "230 MiB", "3.4 GiB": rounded, for people.
std::string rounded_byte_size(std::int64_t bytes);

}  // namespace hybridscope
