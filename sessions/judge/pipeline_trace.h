// A case of the reference's chained vectors (pipeline.jsonl) as a trace: the scheduler's and
// the worker's own decisions, without ours.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"

namespace hybridscope {

// `line`: one line of a pipeline vector file. The lines of its trace: a header that is named by the
// case's id, then one line a schedule call, numbered from 1. Errors, as "FILE:LINE: POINTER: ...":
// no JSON, a member that is missing or of another type, a copy that lies in no block.
Result<std::vector<std::string>> pipeline_trace(const std::string& line, const std::string& file,
                                                std::int64_t line_number);

}  // namespace hybridscope
