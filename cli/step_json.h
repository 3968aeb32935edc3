// One step as one JSON object (`hybridscope run --jsonl`).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "core/check/finding.h"
#include "core/trace/step_trace.h"
#include "sessions/explain_names.h"

namespace hybridscope {

nlohmann::ordered_json step_to_json(const StepTrace& trace, const Names& names,
                                    std::span<const Finding> findings);

}  // namespace hybridscope
