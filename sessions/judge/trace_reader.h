// Reads a foreign trace line by line into plain values, and refuses what breaks the rules of
// docs/trace-format.md, "What is bad input", as far as the lines alone tell.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "sessions/judge/foreign_trace.h"
#include "sessions/text/line_source.h"

namespace hybridscope {

enum class TraceLine { empty, header, step };

class TraceReader {
 public:
  // Messages name `file`; "-" is "<stdin>".
  explicit TraceReader(std::string file);
  ~TraceReader();
  TraceReader(TraceReader&&) noexcept;
  TraceReader& operator=(TraceReader&&) noexcept;

  // Takes line number `line` (from 1) and answers what it was. A header forgets all requests and
  // starts their numbers at 0 again. Error corrupt "FILE:LINE:COLUMN: ..." for text that is no
  // JSON; invalid_input "FILE:LINE: POINTER: what was expected and found" otherwise (the LINE of
  // the step before when that one should have had a model_runner_output). No line is read after an
  // error but a header.
  Result<TraceLine> read_line(PaddedLine text, std::int64_t line);
  // The same for text without padding, which is copied.
  Result<TraceLine> read_line(std::string_view text, std::int64_t line);

  // Requires: a header was read.
  const ForeignHeader& header() const;
  // What the last line that was a step said; valid until the next line.
  const ForeignStep& step() const;
  // The name of any request since the header, finished or not: names are kept, so that memory grows
  // by their bytes. A name that is used again after its request finished has a new number.
  const std::string& name_of(RequestId request) const;
  // Requests that were introduced since the header; their numbers are 0 .. count - 1.
  std::int32_t num_requests() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hybridscope
