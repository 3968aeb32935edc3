// The engine settings of a recorded session, read from its plan.
#pragma once

#include <string>

#include "core/base/result.h"
#include "storage/session_file.h"

namespace hybridscope {

// The plan of a run has its engine's settings; the plan of a judged session is its trace's header
// line. Error, with `file`: the plan cannot be read.
Result<EngineConfig> read_session_config(const SessionInfo& info, const std::string& file);

}  // namespace hybridscope
