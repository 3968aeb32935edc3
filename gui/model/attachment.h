// Reads the trace of a living engine on a thread of its own: judges each step as it comes, writes
// it to a session file, and asks the engine to hold where a breakpoint or a finding says so.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/base/result.h"
#include "gui/model/attach_status.h"
#include "sessions/breakpoint/break_condition.h"
#include "sessions/judge/followed_trace.h"
#include "sessions/judge/judged_trace.h"
#include "sessions/text/followed_input.h"
#include "storage/session_sink.h"

namespace hybridscope {

// What holds the engine.
struct HoldRules {
  std::vector<std::string> breakpoints;  // expressions
  bool at_findings = false;
  friend bool operator==(const HoldRules&, const HoldRules&) = default;
};

class Attachment {
 public:
  struct Options {
    std::string place;   // FILE or unix:PATH
    std::string record;  // FILE.db[:NAME]; empty: a temporary file
    RecordLevel level = RecordLevel::blocks;
    std::string program = "hybridscope";
  };
  explicit Attachment(Options options);
  // Ends the session of the trace under way.
  ~Attachment();
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
  // On the reader's thread:
  void read();
  void take(const FollowedLine& line);
  void take_control(const ControlLine& control);
  void take_end_of_stream();
  void take_trace_line(const FollowedLine& line);
  void judge_line(const FollowedLine& line);
  Status begin_trace(std::string_view header_line);
  Result<SessionPlace> next_place(std::shared_ptr<const void>& owner) const;
  Status add_step(const CheckedStep& step);
  void check_rules(const CheckedStep& step);
  void report_hit(ArrivedHit hit);
  void note_waiting(const FollowedTrace& lines);
  void end_trace(const Error& error);
  void finish_session(SessionStatus status, const std::string& reason);

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
  JudgedTrace judged_;
  bool has_failed_ = false;  // lines are read only to find another header
  std::int64_t lines_taken_ = 0;
  std::int64_t bytes_taken_ = 0;
  std::vector<BreakCondition> conditions_;
  bool holds_at_findings_ = false;
  std::uint64_t conditions_version_ = 0;
  std::unique_ptr<SessionSink> recording_;
  std::thread reader_;  // uses all of the above
};

// A folder for files that are only kept while they are shown.

// Deletes the folder with all that is in it.
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

}  // namespace hybridscope
