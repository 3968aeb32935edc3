// Engine settings of a model by name, in mode align, as `hybridscope run` would resolve them.
#pragma once

#include <cstdint>

#include "core/engine/engine_config.h"

namespace hybridscope::bench {

// The pool holds 32,768 blocks, more than any bench needs: no eviction, no preemption.
EngineConfig model_config(const char* preset, std::int32_t num_speculative_tokens);

}  // namespace hybridscope::bench
