// Converts a case of the reference's chained vectors (pipeline.jsonl) to a trace with the
// reference's own scheduler and worker decisions.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"

namespace hybridscope {

// `line`: one line of a pipeline vector file. Returns the lines of its trace: a header named after
// the case's id, then one line per schedule call, numbered from 1. Errors, as "FILE:LINE: POINTER:
// ...": not JSON, a member that is missing or has another type, a copy outside all blocks.
Result<std::vector<std::string>> pipeline_trace(const std::string& line, const std::string& file,
                                                std::int64_t line_number);

}  // namespace hybridscope
