// Reads a trace of another engine line by line into plain values, also while the engine writes it.
// Refuses input that breaks the rules of docs/trace-format.md, "What is bad input", where the lines
// alone show it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/judge/foreign_trace.h"
#include "sessions/text/growing_file.h"
#include "sessions/text/input_file.h"

namespace hybridscope {

enum class TraceLine { empty, header, step };

class TraceReader {
 public:
  // Messages name `file`; "-" is "<stdin>".
  explicit TraceReader(std::string file);
  ~TraceReader();
  TraceReader(TraceReader&&) noexcept;
  TraceReader& operator=(TraceReader&&) noexcept;

  // Reads line number `line` (from 1) and returns its kind. A header forgets all requests and
  // restarts their numbers at 0. Error corrupt "FILE:LINE:COLUMN: ...": not JSON. Otherwise
  // invalid_input "FILE:LINE: POINTER: what was expected and found"; if a model_runner_output is
  // missing, LINE is that of the step before. After an error only a header can be read.
  Result<TraceLine> read_line(PaddedLine text, std::int64_t line);
  // Reads text without padding, which is copied first.
  Result<TraceLine> read_line(std::string_view text, std::int64_t line);

  // The file's name as messages have it.
  const std::string& file() const;
  // Requires: a header was read.
  const ForeignHeader& header() const;
  // The last step line; valid until the next line.
  const ForeignStep& step() const;
  // The name of any request since the header, finished or not. Names are kept, so memory grows by
  // their bytes. A name that is used again after its request finished gets a new number.
  const std::string& name_of(RequestId request) const;
  // The number of requests introduced since the header; their ids are 0 .. count - 1.
  std::int32_t num_requests() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The lines of a trace while an engine writes it, apart from the control lines that the engine puts
// between them (docs/trace-format.md, "Following an engine").

// What an engine says about itself between the lines of a trace.
struct ControlLine {
  enum class Kind : std::uint8_t {
    held,     // it waits before its next step
    running,  // it goes on
    end,      // the trace ends with this step: its end mark, which is in files too
    full,     // no more steps of the trace are told
    other,    // something that this version does not know
  };
  Kind kind = Kind::other;
  std::int64_t step = 0;  // held: the last step before it waits; end: the last one
  std::string reason;     // held, full: why, in the engine's words
  friend bool operator==(const ControlLine&, const ControlLine&) = default;
};

// Is it an object whose first member is "control"? Such lines say nothing of a step.
bool is_control_line(std::string_view text);
// Such a line; empty: another one.
std::optional<ControlLine> read_control_line(std::string_view text);

struct FollowedLine {
  enum class Kind : std::uint8_t {
    trace,
    control,
    ended,  // the stream ended; what comes next is read from its beginning
  };
  Kind kind = Kind::ended;
  PaddedLine text;          // trace: valid until the next call
  std::int64_t number = 0;  // trace: from 1, as in a file, which of control lines has end marks
  bool is_cut = false;      // ended: in the middle of a line, which is dropped
  ControlLine control;
};

class FollowedTrace {
 public:
  // `input` must outlive it.
  explicit FollowedTrace(FollowedInput& input) : input_(input) {}

  // Waits for the next line. A line counts when its newline is there: of an unfinished one at the
  // end of a stream nothing is returned. Errors: those of FollowedInput and LineSource, with place
  // and line.
  Result<FollowedLine> next();
  // Reads the place from its beginning, whatever was read of it.
  void start_over();

  // Complete lines that were read and not returned yet.
  std::int64_t lines_waiting() const { return source_ ? source_->lines_waiting() : 0; }
  // The bytes taken from all streams so far.
  std::int64_t bytes_taken() const {
    return bytes_before_ + (source_ ? source_->bytes_taken() : 0);
  }

 private:
  FollowedLine end_stream();

  FollowedInput& input_;
  std::optional<LineSource> source_;  // of the stream under way
  std::int64_t number_ = 0;
  std::int64_t bytes_before_ = 0;  // of the streams that ended
};

// Recognises the lines of a trace that is sent again from its beginning, as after a reconnect.

class KnownLines {
 public:
  enum class Is : std::uint8_t {
    news,     // the line after the known ones; known from now on
    known,    // it was there before
    another,  // another line stood here: this is another trace
  };

  // The lines that follow are sent from the first one again.
  void begin_again() { next_ = 0; }
  void forget() {
    hashes_.clear();
    next_ = 0;
  }
  Is take(std::string_view line);
  // The number of known lines.
  std::size_t count() const { return hashes_.size(); }
  // The number of lines taken since they are sent from the first one.
  std::size_t position() const { return next_; }

 private:
  std::vector<std::uint64_t> hashes_;  // of the lines, 8 bytes each
  std::size_t next_ = 0;
};

}  // namespace hybridscope
