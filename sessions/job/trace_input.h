// The lines that `judge` reads: a file or standard input to its end, or with --follow a file that
// grows or a socket, without the engine's control lines.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"
#include "sessions/judge/followed_trace.h"
#include "sessions/text/followed_input.h"
#include "sessions/text/line_source.h"

namespace hybridscope {

class TraceInput {
 public:
  struct Line {
    PaddedLine text;  // valid until the next call
    std::int64_t number = 0;
  };

  // Ends too when `stop` holds while there is nothing to read. Error: those of LineSource::open.
  static Result<TraceInput> open(const std::string& path, std::function<bool()> stop);
  // `stop` ends it, and so does a socket that is closed. `note` gets what the engine says of its
  // trace.
  static TraceInput follow(const std::string& place, std::function<bool()> stop,
                           std::function<void(std::string_view words)> note);

  // The next line; empty: the end. Errors: those of LineSource::next and FollowedTrace::next.
  Result<std::optional<Line>> next();
  std::int64_t line_number() const { return number_; }  // of the last line
  // Why a stream ended before its trace did: "in the middle of a line"; empty: it did not.
  const std::string& ended_early() const { return ended_early_; }
  std::int64_t bytes_taken() const {
    return lines_ ? lines_->bytes_taken() : followed_->trace.bytes_taken();
  }

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

}  // namespace hybridscope
