// Reads a trace of another engine line by line into plain values. Refuses input that breaks the
// rules of docs/trace-format.md, "What is bad input", where the lines alone show it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "sessions/judge/foreign_trace.h"
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

}  // namespace hybridscope
