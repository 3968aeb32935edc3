// A trace judged line by line: reader, judge and names put together for all who judge what another
// engine decided. What a step means is the caller's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "sessions/explain/explain_names.h"
#include "sessions/judge/trace_judge.h"
#include "sessions/judge/trace_reader.h"

namespace hybridscope {

class JudgedTrace {
 public:
  // Messages name `file`; "-" is "<stdin>".
  JudgedTrace(std::string file, CheckScope scope);
  JudgedTrace(const JudgedTrace&) = delete;  // the names refer to the reader of this object
  JudgedTrace& operator=(const JudgedTrace&) = delete;

  // Takes line number `line` (from 1) and answers what it was. Errors: as TraceReader::read_line.
  Result<TraceLine> read(PaddedLine text, std::int64_t line);
  Result<TraceLine> read(std::string_view text, std::int64_t line);

  // The line was a header: its trace is judged from now on, and the one before no longer. Error
  // "FILE:LINE: ...", a set-up that no engine can have.
  Status begin();
  // The line was a step. Requires: its trace has begun. Error "FILE:LINE: ...", the trace cannot be
  // judged any further.
  Result<JudgedStep> judge();
  // No trace is judged until the next begin().
  void end() { judge_.reset(); }

  // The error with file and number of the last line.
  Error at_line(const Error& error) const;

  // A trace is judged.
  bool has_begun() const { return judge_.has_value(); }
  // From the next step on: steps come with their writes to state. Requires: has_begun().
  void log_writes() { judge_->log_writes(); }

  const std::string& file() const { return reader_.file(); }
  std::int64_t line() const { return line_; }  // number of the last one
  const TraceReader& reader() const { return reader_; }
  // Requires: has_begun().
  const TraceJudge& trace_judge() const { return *judge_; }
  // Of the trace that begun last; numbers before the first one.
  const Names& names() const { return names_; }

 private:
  TraceReader reader_;
  CheckScope scope_;
  std::optional<TraceJudge> judge_;
  Names names_;
  std::int64_t line_ = 0;
};

}  // namespace hybridscope
