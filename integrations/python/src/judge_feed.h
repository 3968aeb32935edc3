// A judge that is fed line by line and remembers the last step; knows nothing of Python.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "integrations/python/src/line_thread.h"
#include "sessions/job/judge_session.h"

namespace hybridscope {

// The line that comes next, as the only one.
class FedLine final : public TraceLines {
 public:
  void feed(std::string_view text);

  Result<std::optional<Line>> next() override;
  std::int64_t line_number() const override { return number_; }
  std::int64_t bytes_taken() const override { return bytes_; }

 private:
  std::string padded_;  // the line and kLinePadding bytes
  bool is_taken_ = true;
  std::int64_t number_ = 0;
  std::int64_t bytes_ = 0;  // of all lines
};

class JudgeFeed final : private StepSink {
 public:
  // `options.input`: the name of the trace in messages.
  explicit JudgeFeed(JudgeOptions options);
  JudgeFeed(const JudgeFeed&) = delete;  // the session refers to this object
  JudgeFeed& operator=(const JudgeFeed&) = delete;

  // Takes the next line and returns all its findings as JSON. Errors: those of judge_lines; then
  // only a header can follow.
  Result<std::vector<nlohmann::ordered_json>> feed(std::string_view line);

  std::int64_t line() { return line_.line_number(); }  // lines fed so far
  // Steps and request-steps of the trace under way or the last one; 0 before the first.
  std::int64_t num_steps() { return trace().steps; }
  std::int64_t num_request_steps() { return trace().request_steps; }
  // The step of the last line, 0: it was none.
  std::int64_t step() { return step_ ? step_->trace.step : 0; }
  // The findings that are kept (FindingList), with their lines.
  std::vector<nlohmann::ordered_json> findings();
  // One trace of `judge --json`.
  nlohmann::ordered_json report();
  // The step of the last line in full. Error not_found: it was none.
  Result<std::string> explain() const;
  // How start-up corrects the settings of the last header.
  std::vector<std::string> notes() { return notes_; }

 private:
  Result<Going> take(const CheckedStep& step) override;
  const TraceReport& trace();

  JudgeOptions options_;
  JudgeSession session_;
  FedLine line_;
  std::optional<CheckedStep> step_;  // of the last line
  std::vector<nlohmann::ordered_json> found_;
  std::vector<std::string> notes_;
  TraceReport no_trace_;
};

// Judges whole files of traces.

// What `judge --json --no-timings` prints. Errors: bad input, no trace in it, what keeps the
// session from being written.
Result<nlohmann::ordered_json> judge_file(const JudgeOptions& options, Teller& teller);

// Everything about the step of the first trace that has it. Errors: bad input before it; not_found.
Result<std::string> explain_trace(const JudgeOptions& options, std::int64_t step, Teller& teller);

}  // namespace hybridscope
