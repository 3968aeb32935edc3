// Judges whole files of traces.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/base/result.h"
#include "integrations/python/src/teller.h"
#include "sessions/job/judge_session.h"

namespace hybridscope {

// What `judge --json --no-timings` prints. Errors: bad input, no trace in it, what keeps the
// session from being written.
Result<nlohmann::ordered_json> judge_file(const JudgeOptions& options, Teller& teller);

// Everything about the step of the first trace that has it. Errors: bad input before it; not_found.
Result<std::string> explain_trace(const JudgeOptions& options, std::int64_t step, Teller& teller);

}  // namespace hybridscope
