// Judging one input: lines go in, reports of traces come out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/judge_command.h"
#include "cli/judge_report.h"
#include "core/base/result.h"
#include "sessions/judge/engine_comparison.h"
#include "sessions/judge/trace_judge.h"
#include "sessions/judge/trace_reader.h"

namespace hybridscope {

class JudgeSession {
 public:
  explicit JudgeSession(const JudgeOptions& options);

  // Takes one line of a trace. Error: bad input, with file, line and place; no more lines then.
  Status take(PaddedLine text, std::int64_t line);
  Status take(const std::string& text, std::int64_t line);

  // Ends the trace under way.
  void finish();
  JudgeReport& report() { return report_; }
  bool explained() const { return explained_; }

 private:
  Status judge(const Result<TraceLine>& kind, std::int64_t line);
  Status begin(std::int64_t line);
  Status begin_comparison();
  Error at_line(const Error& error, std::int64_t line) const;
  Status judge_step(std::int64_t line);
  void explain(const JudgedStep& step);

  const JudgeOptions& options_;
  TraceReader reader_;
  std::optional<TraceJudge> judge_;
  std::optional<EngineComparison> comparison_;  // --engine
  Names names_;
  JudgeReport report_;
  bool skips_trace_ = false;  // the filter left it out
  bool explained_ = false;
};

}  // namespace hybridscope
