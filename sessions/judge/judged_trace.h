// Judges a trace line by line: combines reader, judge and names. Callers decide what to do with
// each step.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/explain/explain_names.h"
#include "sessions/judge/foreign_importer.h"
#include "sessions/judge/foreign_trace.h"
#include "sessions/judge/trace_reader.h"
#include "sessions/judge/untold_parts.h"
#include "sessions/run/step_judge.h"

namespace hybridscope {

class TraceJudge {
 public:
  // Judges one trace: executes each traced step on symbolic state and checks it. Errors: a set-up
  // that no engine can have, with a pointer into the header; those of language.make_machine.
  // With `language`, this model runs on the trace's decisions too: it takes the trace's tokens,
  // each as one of its own, and its states and logits are compared with lone runs.
  static Result<TraceJudge> create(const ForeignHeader& header, const LanguageModel& language = {});

  // The step, without findings from where on they may be false (UntoldParts); a language model says
  // nothing of its own. Errors: those of ForeignImporter::import, and of the language model's
  // machine; the trace cannot be judged any further.
  Result<CheckedStep> judge(const ForeignStep& step, CheckScope scope);

  // From the next step on, steps come with every write to state that they carry out.
  void log_writes() { judge_.log_writes(); }

  const EngineConfig& config() const { return importer_.config(); }
  // The scheduler's, after the last step.
  const BlockTableMirror& scheduler_tables() const { return importer_.tables(); }
  // What a verdict needs and the trace did not tell up to the last step.
  const UntoldParts& untold() const { return untold_; }
  // The number of steps in which this was computed because the trace lacks it.
  std::int64_t num_computed(Computed what) const { return importer_.num_computed(what); }
  std::int64_t num_steps() const { return num_steps_; }
  std::int64_t num_request_steps() const { return num_request_steps_; }
  // Steps that told hashes of the engine's memory.
  std::int64_t num_memory_steps() const { return judge_.num_memory_steps(); }

 private:
  TraceJudge(const ForeignHeader& header, ForeignImporter importer, StepJudge judge);

  UntoldParts untold_;
  ForeignImporter importer_;
  StepJudge judge_;
  std::int64_t num_steps_ = 0;
  std::int64_t num_request_steps_ = 0;
};

// What a line was, and its step if a trace is being judged.
struct JudgedLine {
  TraceLine kind = TraceLine::empty;
  std::optional<CheckedStep> step;
};

// Shall the trace with this header be judged? Called while the previous trace is still there.
using IsTraceWanted = std::function<bool(const ForeignHeader&)>;

class JudgedTrace {
 public:
  // Messages name `file`; "-" is "<stdin>". Without `is_wanted` every trace is judged. `language`
  // as TraceJudge's.
  JudgedTrace(std::string file, CheckScope scope, IsTraceWanted is_wanted = {},
              LanguageModel language = {});
  JudgedTrace(const JudgedTrace&) = delete;  // names_ refers to reader_
  JudgedTrace& operator=(const JudgedTrace&) = delete;

  // Takes line number `line` (from 1). A header ends the previous trace, and its own trace is
  // judged from now on if it is wanted; steps of a trace that is not judged are only read. Errors:
  // those of TraceReader::read_line; "FILE:LINE: ...": a set-up that no engine can have, or a trace
  // that cannot be judged any further.
  Result<JudgedLine> take(PaddedLine text, std::int64_t line);
  Result<JudgedLine> take(std::string_view text, std::int64_t line);
  // Judges no trace until the next header.
  void end() { judge_.reset(); }

  // The error, prefixed with the file and the number of the last line.
  Error at_line(const Error& error) const;

  // Is a trace being judged?
  bool has_begun() const { return judge_.has_value(); }
  // From the next step on, steps come with their writes to state. Requires: has_begun().
  void log_writes() { judge_->log_writes(); }

  const std::string& file() const { return reader_.file(); }
  std::int64_t line() const { return line_; }  // number of the last line
  const TraceReader& reader() const { return reader_; }
  // Requires: has_begun().
  const TraceJudge& trace_judge() const { return *judge_; }
  // The names of the last trace that began; plain numbers before the first.
  const Names& names() const { return names_; }

 private:
  Result<JudgedLine> judge_line(const Result<TraceLine>& read);
  Status begin();
  Result<CheckedStep> judge();

  TraceReader reader_;
  CheckScope scope_;
  IsTraceWanted is_wanted_;
  LanguageModel language_;
  std::optional<TraceJudge> judge_;
  Names names_;
  std::int64_t line_ = 0;
};

}  // namespace hybridscope
