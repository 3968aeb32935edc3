// The memory layout of a run's state when it is kept in bytes, and whether it fits.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/state/state_backend.h"
#include "core/state/state_memory.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/scenario/settings.h"

namespace hybridscope {

// The limit for the state. `reason` completes the sentence "more than the 2.0 GiB ...".
struct StateMemoryLimit {
  std::int64_t bytes = 0;
  std::string reason = {};
};

// Plans memory for the model's recurrent layers: settings.state_layers of each group, or all.
// Errors: what make_state_memory refuses; conv windows without room for drafts; not_available when
// it does not fit, with the numbers and the largest number of layers that fits.
Result<StateMemory> plan_state_memory(const EngineSetup& setup, const EngineSettings& settings,
                                      const StateMemoryLimit& limit);

// The largest sizes of any step. Rows: max_num_seqs, or the rows of the largest captured graph.
StepLimits step_limits(const EngineSetup& setup);

// The number of layers of the largest recurrent group.
std::int32_t num_state_layers(const KVCacheConfig& config);

// "230 MiB", "3.4 GiB": rounded, for display.
std::string rounded_byte_size(std::int64_t bytes);

}  // namespace hybridscope
