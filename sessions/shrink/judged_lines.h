// Lines of one trace judged to their end, with their findings under names that stay the same when
// other requests are left out.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/result.h"
#include "core/check/finding.h"
#include "core/check/step_checker.h"
#include "sessions/judge/judged_trace.h"

namespace hybridscope {

// A finding without what follows from who else is there: rows and the order of writes.
struct ToldFinding {
  Rule rule = Rule::running_state_wrong;
  std::int64_t step = 0;
  std::string request;                // empty: none
  std::vector<std::int64_t> numbers;  // group, content, column, block, expected, seen, cause
  std::string detail;
  std::string cause_request;
  friend auto operator<=>(const ToldFinding&, const ToldFinding&) = default;
};

struct FoundInTrace {
  ToldFinding told;
  std::string text;  // explain_finding
};

// Judges a trace line by line; a header starts another trace.
class LineJudge {
 public:
  // `file` is for messages.
  LineJudge(std::string file, CheckScope scope);

  // What the line was, and what was found in its step (`found()`). Errors: those of JudgedTrace.
  Result<TraceLine> take(const std::string& text, std::int64_t line);
  Result<TraceLine> take(PaddedLine text, std::int64_t line);
  const std::vector<FoundInTrace>& found() const { return found_; }

 private:
  Result<TraceLine> judge(Result<TraceLine> kind);
  ToldFinding told(const Finding& finding) const;

  JudgedTrace trace_;
  std::vector<FoundInTrace> found_;
};

}  // namespace hybridscope
