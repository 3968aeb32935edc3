// The shortest front of a judged trace, and the fewest of its requests, that still have a finding.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/shrink/shrink_scenario.h"
#include "sessions/text/line_source.h"

namespace hybridscope {

struct TraceSize {
  std::int64_t lines = 0;  // header included
  std::int64_t requests = 0;
  std::int64_t request_steps = 0;  // rows over all lines
  friend bool operator==(const TraceSize&, const TraceSize&) = default;
};

struct ShrunkTrace {
  std::vector<std::string> lines;  // without newlines, the header first
  Rule rule = Rule::running_state_wrong;
  std::int64_t violation_step = 0;
  std::string text;            // the finding in words
  std::int64_t line = 0;       // of the input, that has it
  TraceSize size_before = {};  // of the trace up to that line
  TraceSize size_after = {};
  std::int64_t num_runs = 0;
  ShrinkEnd end = ShrinkEnd::smallest;
};

// Keeps the first finding of the rule itself: its step, request, block and numbers; and no
// candidate may have an error that the trace up to there does not have, as a trace whose writers
// were left out would. Reads `source` up to the line with the finding; lines that were not changed
// stay letter for letter. `file` is for messages. Errors: what the reader and the judge refuse
// before that line; not_found when there is no such finding. Of the options' progress only num_runs
// is told.
Result<ShrunkTrace> shrink_trace(LineSource& source, const std::string& file,
                                 const ShrinkOptions& options);

}  // namespace hybridscope
