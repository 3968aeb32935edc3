// One step as one JSON object (`hybridscope run --jsonl`, `hybridscope sessions show --json`).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "core/check/finding.h"
#include "core/trace/step_trace.h"
#include "sessions/explain/explain_names.h"
#include "sessions/record/step_record.h"

namespace hybridscope {

nlohmann::ordered_json step_to_json(const StepTrace& trace, const Names& names,
                                    std::span<const Finding> findings);

// A recorded step in the same form, with its sums as "counts". Lists that the level does not keep
// are left out: an empty one would say that there was nothing.
nlohmann::ordered_json record_to_json(const StepRecord& record, RecordLevel level,
                                      const Names& names);

}  // namespace hybridscope
