// Judging one input: lines go in, reports of traces come out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/judge_command.h"
#include "cli/judge_report.h"
#include "core/base/result.h"
#include "sessions/judge/engine_comparison.h"
#include "sessions/judge/judged_trace.h"

namespace hybridscope {

class JudgeSession {
 public:
  explicit JudgeSession(const JudgeOptions& options);

  // Takes one line of a trace. Error: bad input, with file, line and place; no more lines then.
  Status take(PaddedLine text, std::int64_t line);
  Status take(const std::string& text, std::int64_t line);

  // Ends the trace under way; `status` and `reason` are how its session ends.
  void finish(SessionStatus status, const std::string& reason);
  // What keeps --record from going on; no more lines then.
  const std::optional<Error>& record_failure() const { return record_failure_; }
  JudgeReport& report() { return report_; }
  bool explained() const { return explained_; }
  bool follows() const { return options_.follow; }

 private:
  bool ends_previous_and_wants(const ForeignHeader& header);
  Status follow(const Result<JudgedLine>& taken, std::string_view text);
  Status begin(std::string_view text);
  Status begin_recording(std::string_view header_line);
  Status begin_comparison();
  Status add_step(const JudgedStep& step);
  void explain(const JudgedStep& step);
  void print_new_findings(std::size_t first) const;

  const JudgeOptions& options_;
  JudgedTrace trace_;
  std::optional<EngineComparison> comparison_;  // --engine
  std::unique_ptr<RecordedSession> recorded_;   // --record
  std::optional<Error> record_failure_;
  JudgeReport report_;
  bool explained_ = false;
};

}  // namespace hybridscope
