// Shrinks a judged trace to the shortest prefix, and the fewest of its requests, that still have a
// finding.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/check/finding.h"
#include "core/check/step_checker.h"
#include "sessions/judge/judged_trace.h"
#include "sessions/shrink/shrink_scenario.h"
#include "sessions/text/input_file.h"

namespace hybridscope {

// A finding without what depends on other requests (row numbers, order of writes), so that it stays
// equal when requests are left out.
struct TracedFinding {
  Rule rule = Rule::running_state_wrong;
  std::int64_t step = 0;
  std::string request;                // name; empty: none
  std::vector<std::int64_t> numbers;  // group, content, column, block, expected, seen, cause
  std::string detail;
  std::string cause_request;
  friend auto operator<=>(const TracedFinding&, const TracedFinding&) = default;
};

struct FoundInTrace {
  TracedFinding traced;
  std::string text;  // explain_finding
};

// Judges a trace line by line; a header starts a new trace.
class LineJudge {
 public:
  // `file` is for messages.
  LineJudge(std::string file, CheckScope scope);

  // Returns the kind of the line; found() then has the findings of its step. Errors: those of
  // JudgedTrace.
  Result<TraceLine> take(const std::string& text, std::int64_t line);
  Result<TraceLine> take(PaddedLine text, std::int64_t line);
  const std::vector<FoundInTrace>& found() const { return found_; }

 private:
  Result<TraceLine> keep(const Result<JudgedLine>& taken);
  TracedFinding traced(const Finding& finding) const;

  JudgedTrace trace_;
  std::vector<FoundInTrace> found_;
};

struct TraceSize {
  std::int64_t lines = 0;  // including the header
  std::int64_t requests = 0;
  std::int64_t request_steps = 0;  // rows over all lines
  friend bool operator==(const TraceSize&, const TraceSize&) = default;
};

struct ShrunkTrace {
  std::vector<std::string> lines;  // without newlines; the header is first
  Rule rule = Rule::running_state_wrong;
  std::int64_t violation_step = 0;
  std::string text;            // the finding in words
  std::int64_t line = 0;       // number of the input line that has the finding
  TraceSize size_before = {};  // size of the trace up to that line
  TraceSize size_after = {};
  std::int64_t num_runs = 0;
  ShrinkEnd end = ShrinkEnd::smallest;
};

// Keeps the first finding of the rule, with its step, request, block and numbers. A candidate must
// not have an error that the trace up to there does not have; leaving out the request that wrote a
// state would cause one. Reads `source` up to the line with the finding; unchanged lines stay
// identical byte for byte. `file` is for messages. Errors: what the reader and the judge refuse
// before that line; not_found, no such finding. Of the options' progress only num_runs is reported.
Result<ShrunkTrace> shrink_trace(LineSource& source, const std::string& file,
                                 const ShrinkOptions& options);

// Removes requests from a line of a trace (docs/trace-format.md).

// The requests that a step's scheduler_output names, in the order of the line, including those that
// only finished.
std::vector<std::string> traced_requests(const nlohmann::ordered_json& step);

// Does the line schedule any request?
bool schedules_somebody(const nlohmann::ordered_json& step);

// What to remove of the data about the whole batch when some of its requests are removed.
enum class TracedBatch : std::uint8_t {
  without_metadata,            // attn_metadata; the judge then computes it
  without_metadata_and_graph,  // attn_metadata and cudagraph
};

// Removes the requests for which `dropped` is true: their entries in lists, parallel lists and
// maps. Returns whether there were any. If rows were among them, `batch` says what else is removed.
bool drop_requests(nlohmann::ordered_json& step,
                   const std::function<bool(const std::string&)>& dropped, TracedBatch batch);

}  // namespace hybridscope
