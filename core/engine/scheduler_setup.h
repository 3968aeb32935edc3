// An engine's settings as the scheduler and its KV cache take them.
#pragma once

#include "core/caching/kv_cache_manager.h"
#include "core/engine/engine_config.h"
#include "core/engine/scheduler.h"

namespace hybridscope {

// Mode align splits chunks on blocks when a group of layers is recurrent
// (semantics: aligned-split).
SchedulerConfig scheduler_config(const EngineConfig& config);

KVCacheManagerConfig kv_cache_manager_config(const EngineConfig& config);

}  // namespace hybridscope
