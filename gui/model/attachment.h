// Reads the trace of a living engine on a thread of its own: judges each step as it comes, writes
// it to a session file, and asks the engine to hold where a breakpoint or a finding says so.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "sessions/breakpoint/break_condition.h"
#include "sessions/job/judge_session.h"
#include "sessions/judge/trace_reader.h"
#include "sessions/run/drive.h"
#include "sessions/text/growing_file.h"
#include "storage/session_file.h"

namespace hybridscope {

// What is known of an engine that the window is attached to, as values.

enum class AttachState : std::uint8_t {
  waiting,  // for the file or the socket, or for the first line of a trace
  live,
  lost,   // was connected; what was read is kept, and the place is tried again
  ended,  // nothing more of this trace is read: AttachStatus::error says why
};

// The engine waits before its next step.
struct EngineHold {
  std::int64_t step = 0;  // its last one
  std::string reason;
  friend bool operator==(const EngineHold&, const EngineHold&) = default;
};

// A step, as it arrived, that a breakpoint or a finding holds the engine for.
struct ArrivedHit {
  std::int32_t trace = 0;  // as AttachStatus::trace
  std::int64_t step = 0;
  std::string breakpoint;  // the expression; empty: a finding
  std::string words;       // why
  RequestId request{};     // -1: none
  std::int32_t block = -1;
  std::string trouble;  // why the engine was not asked to hold; empty: it was
};

struct AttachStatus {
  AttachState state = AttachState::waiting;
  bool is_connected = false;  // or the file is open
  bool has_end_mark = false;  // the trace is complete
  std::string no_more;        // why the engine tells no more steps of the trace; empty: it does
  std::string error;          // one line or more, as of the reader of traces
  std::int32_t trace = 0;     // how many traces have begun
  std::string untold;         // UntoldParts::words of the trace
  std::string engine;         // of the trace: "vllm 0.33.0"
  SessionPlace session = {};  // the trace's
  // Keeps a temporary session file.
  std::shared_ptr<const void> session_owner = {};
  // Steps of the trace that were judged, and how many of them the session file has.
  std::int64_t num_judged = 0;
  std::int64_t num_written = 0;
  // Steps that were received, or are in the file, and are not judged yet. The part that is still
  // outside is estimated by the mean length of a line.
  std::int64_t num_waiting = 0;
  bool is_estimate = false;
  std::int64_t num_request_steps = 0;  // of all traces
  std::optional<EngineHold> hold = {};
  std::optional<std::string> hold_asked_for = {};  // why `hold` was sent; not answered yet
};

// What holds the engine.
struct HoldRules {
  std::vector<std::string> breakpoints;  // expressions
  bool at_findings = false;
  friend bool operator==(const HoldRules&, const HoldRules&) = default;
};

// A folder for files that are only kept while they are shown; it is deleted with all that is in it.
class TemporaryFolder {
 public:
  // In the system's folder for temporary files. Error io: none can be made there.
  static Result<std::shared_ptr<TemporaryFolder>> make();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

class Attachment : private TraceLines, private StepSink {
 public:
  struct Options {
    std::string place;   // FILE or unix:PATH
    std::string record;  // FILE.db[:NAME]; empty: a temporary file
    RecordLevel level = RecordLevel::blocks;
  };
  explicit Attachment(Options options);
  // Ends the session of the trace under way.
  ~Attachment() override;
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  const Options& options() const { return options_; }
  bool is_socket() const { return input_.is_socket(); }
  AttachStatus status() const;
  // Hits since the last call.
  std::vector<ArrivedHit> take_hits();
  // For steps that arrive from now on. Requires: the expressions can be parsed.
  void set_hold_rules(HoldRules rules);
  // Errors: those of FollowedInput::send.
  Status hold(const std::string& reason);
  Status resume();

 private:
  // On the reader's thread. Lines that are here already come no second time.
  Result<std::optional<Line>> next() override;
  std::int64_t line_number() const override { return line_number_; }
  std::int64_t bytes_taken() const override { return lines_.bytes_taken(); }
  Result<Going> take(const CheckedStep& step) override;

  void read();
  bool is_news(const FollowedLine& line);
  void take_control(const ControlLine& control);
  void take_end_of_stream();
  void begin_trace(const SessionPlace& place);
  void check_rules(const CheckedStep& step);
  void report_hit(ArrivedHit hit);
  void note_waiting();
  void end_trace(const Error& error);
  void finish(SessionStatus status, const std::string& reason);

  Options options_;
  std::atomic<bool> stop_ = false;
  FollowedInput input_;

  mutable std::mutex mutex_;  // guards what follows, up to the reader's own members
  AttachStatus status_;
  std::vector<ArrivedHit> hits_;
  HoldRules rules_;
  std::uint64_t rules_version_ = 0;
  double mean_line_bytes_ = 0;          // of the last lines more than of those before
  std::int64_t known_lines_ahead_ = 0;  // lines that come again after a reconnect

  // The reader's own.
  FollowedTrace lines_;
  KnownLines known_;
  std::int64_t line_number_ = 0;
  std::shared_ptr<const TemporaryFolder> folder_;  // of the session; null: it is kept
  JudgeOptions judging_;
  JudgeSession session_;
  bool is_unreadable_ = false;
  bool has_failed_ = false;  // lines are read only to find another header
  std::int64_t lines_taken_ = 0;
  std::int64_t bytes_taken_ = 0;
  std::vector<BreakCondition> conditions_;
  bool holds_at_findings_ = false;
  std::uint64_t conditions_version_ = 0;
  std::thread reader_;  // uses all of the above
};

}  // namespace hybridscope
