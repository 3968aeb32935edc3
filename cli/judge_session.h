// Judging one input: lines go in, reports of traces come out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cli/judge_command.h"
#include "cli/judge_report.h"
#include "cli/step_files.h"
#include "core/base/result.h"
#include "sessions/judge/engine_comparison.h"
#include "sessions/judge/judged_trace.h"
#include "sessions/judge/trace_cause.h"

namespace hybridscope {

// What a session tells while it judges; each may be empty.
struct JudgeEvents {
  // How start-up corrects the graph settings of a header.
  std::function<void(const std::string& words)> note = {};
  // A step, when its findings are in the report; the kept ones are new from `first_kept` on.
  std::function<void(const JudgedStep& step, std::size_t first_kept)> step = {};
};

class JudgeSession {
 public:
  // `options` must outlive it.
  JudgeSession(const JudgeOptions& options, JudgeEvents events);

  // Takes one line of a trace. Error: bad input, with file, line and place; no more lines then.
  Status take(PaddedLine text, std::int64_t line);
  Status take(std::string_view text, std::int64_t line);

  // Ends the trace under way; `status` and `reason` are how its session ends.
  void finish(SessionStatus status, const std::string& reason);
  // What keeps a file from being written; no more lines then.
  const std::optional<Error>& file_failure() const { return file_failure_; }
  // The number of the trace's last step; 0: none.
  std::int64_t last_step() const { return trace_.reader().step().step; }
  // What was found so far.
  JudgeReport& report();
  // Everything about a step in words; requires: it is the last one.
  std::string explain(const JudgedStep& step) const;
  const Names& names() const { return trace_.names(); }

 private:
  void tell_corrections(const EngineConfig& config) const;
  bool ends_previous_and_wants(const ForeignHeader& header);
  Status follow(const Result<JudgedLine>& taken, std::string_view text);
  Status begin(std::string_view text);
  Status begin_files(std::string_view header_line);
  Status begin_comparison();
  Status add_step(const JudgedStep& step);
  void count_steps();
  void find_causes();
  void note_uncompared_hits();

  const JudgeOptions& options_;
  JudgeEvents events_;
  JudgedTrace trace_;
  std::optional<EngineComparison> comparison_;  // --engine
  StepFiles files_;
  std::optional<Error> file_failure_;
  KeptTrace kept_;  // the trace under way
  TraceCauses causes_;
  JudgeReport report_;
};

}  // namespace hybridscope
