// Judging one input: lines go in, reports of traces come out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/judge_command.h"
#include "cli/judge_report.h"
#include "cli/step_files.h"
#include "core/base/result.h"
#include "sessions/judge/engine_comparison.h"
#include "sessions/judge/judged_trace.h"
#include "sessions/judge/trace_cause.h"

namespace hybridscope {

class JudgeSession {
 public:
  // Told how start-up corrects the settings of a header, and what could not be compared or found.
  using Note = std::function<void(const std::string& words)>;

  // `options` must outlive it. `note` may be empty.
  explicit JudgeSession(const JudgeOptions& options, Note note = {});
  JudgeSession(const JudgeSession&) = delete;  // its trace refers to it
  JudgeSession& operator=(const JudgeSession&) = delete;

  // From now on the sink, which must outlive it, gets each step of each trace, when the step's
  // findings are in the report and before the files get it.
  void add(StepSink& sink) { sinks_.insert(sinks_.end() - 1, &sink); }

  // Takes one line of a trace. Going::stop: a sink wants no more. Error: bad input, with file, line
  // and place; no more lines then.
  Result<Going> take(PaddedLine text, std::int64_t line);
  Result<Going> take(std::string_view text, std::int64_t line);

  // Ends the trace under way; `status` and `reason` are how its session ends.
  void finish(SessionStatus status, const std::string& reason);
  // What keeps a file from being written; no more lines then.
  const std::optional<Error>& file_failure() const { return file_failure_; }
  // The number of the trace's last step; 0: none.
  std::int64_t last_step() const { return trace_.reader().step().step; }
  // What was found so far.
  JudgeReport& report();
  // Everything about a step in words; requires: it is the last one.
  std::string explain(const CheckedStep& step) const;
  const Names& names() const { return trace_.names(); }

 private:
  void tell_corrections(const EngineConfig& config) const;
  bool ends_previous_and_wants(const ForeignHeader& header);
  Result<Going> follow(const Result<JudgedLine>& taken, std::string_view text);
  Status begin(std::string_view text);
  Result<SessionHeader> session_header(std::string_view header_line) const;
  Status begin_files(std::string_view header_line);
  Status begin_comparison();
  Result<Going> add_step(const CheckedStep& step);
  void count_steps();
  void find_causes();
  void note_uncompared_hits();

  const JudgeOptions& options_;
  Note note_;
  JudgedTrace trace_;
  std::optional<EngineComparison> comparison_;  // --engine
  StepFiles files_;
  std::vector<StepSink*> sinks_ = {&files_};
  std::optional<Error> file_failure_;
  KeptTrace kept_;  // the trace under way
  TraceCauses causes_;
  JudgeReport report_;
};

}  // namespace hybridscope
