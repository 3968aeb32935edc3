// `config` of the vectors about caching and scheduling as an engine's settings.
#pragma once

#include "core/engine/engine_config.h"
#include "sessions/conformance/vector_value.h"

namespace hybridscope {

// Groups, sizes and flags of the KV cache, profile `pages`. Of a member that cache_hits does not
// have the setting is one that cuts nothing off: caching on, no watermark, any length.
EngineConfig read_cache_config(const VectorValue& config);

// The same and the scheduler's settings.
EngineConfig read_scheduler_config(const VectorValue& config);

// Throws when the answers to all calls, of which many list every block, would be larger than any
// vector file.
void check_pool_size(const VectorValue& config, const VectorValue& calls);

}  // namespace hybridscope
