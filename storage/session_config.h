// The engine settings of a recorded session, from its plan.
#pragma once

#include <string>

#include "core/base/result.h"
#include "storage/session_file.h"

namespace hybridscope {

// A run's plan gives its engine's settings, a judged session's plan is its trace's header line.
// Error, with `file`: a plan that cannot be read.
Result<EngineConfig> read_session_config(const SessionInfo& info, const std::string& file);

}  // namespace hybridscope
