// Judging one input: lines go in, reports of traces come out.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/check/step_checker.h"
#include "sessions/job/judge_report.h"
#include "sessions/job/step_files.h"
#include "sessions/judge/engine_comparison.h"
#include "sessions/judge/judged_trace.h"
#include "sessions/judge/trace_cause.h"
#include "sessions/judge/trace_reader.h"
#include "sessions/run/drive.h"
#include "sessions/run/step_judge.h"
#include "sessions/text/command_files.h"
#include "sessions/text/growing_file.h"
#include "sessions/text/input_file.h"

namespace hybridscope {

// Where the lines of traces come from.
class TraceLines {
 public:
  struct Line {
    PaddedLine text;  // valid until the next call
    std::int64_t number = 0;
  };

  virtual ~TraceLines() = default;
  // The next line; empty: the end. Error: what keeps it from being read.
  virtual Result<std::optional<Line>> next() = 0;
  virtual std::int64_t line_number() const = 0;  // of the last line
  virtual std::int64_t bytes_taken() const = 0;
  // Why the lines ended before their trace did: "in the middle of a line"; empty: they did not.
  virtual std::string ended_early() const { return {}; }
};

// The lines that `judge` reads: a file or standard input to its end, or with --follow a file that
// grows or a socket, without the engine's control lines.
class TraceInput final : public TraceLines {
 public:
  // Ends too when `stop` holds while there is nothing to read. Error: those of LineSource::open.
  static Result<TraceInput> open(const std::string& path, std::function<bool()> stop);
  // `stop` ends it, and so does a socket that is closed. `note` gets what the engine says of its
  // trace.
  static TraceInput follow(const std::string& place, std::function<bool()> stop,
                           std::function<void(std::string_view words)> note);

  // Errors: those of LineSource::next and FollowedTrace::next.
  Result<std::optional<Line>> next() override;
  std::int64_t line_number() const override { return number_; }
  std::int64_t bytes_taken() const override {
    return lines_ ? lines_->bytes_taken() : followed_->trace.bytes_taken();
  }
  std::string ended_early() const override { return ended_early_; }

 private:
  struct Followed {
    Followed(const std::string& place, std::function<bool()> stop_when,
             std::function<void(std::string_view)> note_words)
        : stop(stop_when),
          note(std::move(note_words)),
          input(place, std::move(stop_when)),
          trace(input) {}
    std::function<bool()> stop;
    std::function<void(std::string_view)> note;
    FollowedInput input;
    FollowedTrace trace;
  };
  Result<std::optional<Line>> next_followed();
  void end_of_stream(bool is_cut);

  std::int64_t number_ = 0;
  bool is_within_trace_ = false;  // followed: no end mark since the last trace line
  std::string ended_early_;
  std::optional<LineSource> lines_;
  std::unique_ptr<Followed> followed_;  // null: lines_ is read
};

struct JudgeOptions {
  std::string input;           // a file, or "-"
  bool follow = false;         // goes on as the input grows
  bool from_pipeline = false;  // the input is a vector file of the reference, not a trace
  // With from_pipeline: gets the lines of the trace, which are not judged then. May be empty.
  std::function<void(const std::string& line)> converted = {};
  std::string filter;        // only traces whose name contains it; empty: all
  bool only_first = false;   // of several traces
  bool finds_causes = true;  // searches the known bugs behind findings when a trace ends
  CheckScope check = CheckScope::step;
  std::string engine;      // profile to compare with; empty: none
  LanguageModel language;  // runs on the decisions; none: without a model
  StepFileOptions files;   // several traces: the second one's session ends in "-2"
};

// What it reads and writes.
CommandFiles files_of(const JudgeOptions& options);

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
  // All that are to get each step, the files last.
  std::span<StepSink* const> sinks() const { return sinks_; }

  // Judges one line of a trace: the step that it is, which the report has then and which the
  // sinks are to get; empty: it is none. Error: bad input, with file, line and place; no more lines
  // then.
  Result<std::optional<CheckedStep>> judge(PaddedLine text, std::int64_t line);
  Result<std::optional<CheckedStep>> judge(std::string_view text, std::int64_t line);
  // What became of the steps that its sinks got: notes what keeps a file from being written.
  Driven note_failure(Driven handed);

  // Ends the trace under way; `status` and `reason` are how its session ends.
  void finish(SessionStatus status, const std::string& reason);
  // What keeps a file from being written; no more lines then.
  const std::optional<Error>& file_failure() const { return file_failure_; }
  // The next trace is tried again, with a file of its own.
  void forget_file_failure() { file_failure_.reset(); }
  // With only_first: another trace has begun.
  bool has_more_traces() const { return has_more_traces_; }
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
  Result<std::optional<CheckedStep>> follow(const Result<JudgedLine>& taken, std::string_view text);
  Status begin(std::string_view text);
  Result<SessionHeader> session_header(std::string_view header_line) const;
  Status begin_files(std::string_view header_line);
  Status begin_comparison();
  void report_step(const CheckedStep& step);
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
  bool has_more_traces_ = false;
  KeptTrace kept_;  // the trace under way
  TraceCauses causes_;
  JudgeReport report_;
};

// The steps of the traces in `source`, of which `options` says what its lines are. Before each line
// `go_on` is asked; false: the steps end there. Errors of next(): bad input; the lines before it
// were judged. All that it is made of must outlive it.
class JudgedLines final : public JudgedSteps {
 public:
  JudgedLines(const JudgeOptions& options, TraceLines& source, JudgeSession& session,
              std::function<bool()> go_on)
      : options_(options), source_(source), session_(session), go_on_(std::move(go_on)) {}

  // The session asks its sinks when a trace begins: only then are its files there.
  void log_writes() override {}
  bool has_ended() const override { return has_ended_; }
  Result<std::optional<CheckedStep>> next() override;

 private:
  Result<std::optional<TraceLines::Line>> next_line();
  Status convert(const std::string& vector, std::int64_t line);
  Result<std::optional<CheckedStep>> judge_line();

  const JudgeOptions& options_;
  TraceLines& source_;
  JudgeSession& session_;
  std::function<bool()> go_on_;
  bool has_ended_ = false;
  std::deque<std::string> converted_;  // lines of the trace that the last vector is
};

// Drives the steps of `source` into the session's sinks, as JudgedLines says. Error: bad input, or
// a sink's.
Status judge_lines(const JudgeOptions& options, TraceLines& source, JudgeSession& session,
                   const std::function<bool()>& go_on);

}  // namespace hybridscope
