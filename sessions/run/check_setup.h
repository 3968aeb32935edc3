// Makes the checker's configuration from an engine's.
#pragma once

#include "core/check/check_context.h"
#include "core/engine/engine_config.h"

namespace hybridscope {

CheckConfig make_check_config(const EngineConfig& config);

}  // namespace hybridscope
