// Reads `config` of the caching and scheduling vectors as engine settings.
#pragma once

#include "core/engine/engine_config.h"
#include "core/engine/releases.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

// Groups, sizes and flags of the KV cache; profile `reference`. Settings that cache_hits vectors
// lack get values that limit nothing: caching on, no watermark, any length.
EngineConfig read_cache_config(const JsonValue& config);

// Reads the cache's settings and those of the scheduler.
EngineConfig read_scheduler_config(const JsonValue& config);

// The settings of a run of an installed release, with its policies.
EngineConfig read_release_config(const JsonValue& config, Release release);

// The settings of a run of a release's worker alone, with its policies.
EngineConfig read_release_worker_config(const JsonValue& config, Release release);

// Throws when the answers to all calls, many of which list every block, would be larger than any
// vector file.
void check_pool_size(const JsonValue& config, const JsonValue& calls);

}  // namespace hybridscope
