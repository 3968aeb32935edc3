// Judges a trace line by line: combines reader, judge and names, and knows what the trace does not
// tell. Callers decide what to do with each step.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/trace/step_trace.h"
#include "sessions/explain/explain_names.h"
#include "sessions/judge/foreign_importer.h"
#include "sessions/judge/foreign_trace.h"
#include "sessions/judge/trace_reader.h"
#include "sessions/run/step_judge.h"

namespace hybridscope {

// What a verdict on a trace needs and the trace does not tell (docs/trace-format.md, "What a
// verdict needs").

class UntoldParts {
 public:
  explicit UntoldParts(const ForeignHeader& header);

  // Takes a step that `importer` has just turned into `trace`.
  void take(const ForeignStep& step, const StepTrace& trace, const ForeignImporter& importer);

  // From the last step on findings may be false: what was not told decides over them.
  bool hide_findings() const { return !hiding_.empty(); }
  // What is not told, in words: what hides findings, else the first thing without which there may
  // be faults that nothing in the trace shows. Empty: all that a verdict needs was told.
  std::string words() const;

 private:
  void hide(std::int64_t step, const std::string& what);
  void doubt(std::int64_t step, const std::string& what);
  void look_at_hashes(const ForeignStep& step, const StepTrace& trace,
                      const ForeignImporter& importer);
  void look_at_told_hash(const ForeignStep& step, const ForeignHash& hash,
                         const ForeignImporter& importer);
  void look_at_counted_hashes(const ForeignStep& step);
  void look_at_lost_hashes(const ForeignStep& step, const ForeignImporter& importer);
  void look_at_block_copies(const ForeignStep& step, const StepTrace& trace,
                            const BlockTableMirror& tables);
  void look_at_checkpoints(const ForeignStep& step, const StepTrace& trace,
                           const ForeignImporter& importer);
  void look_at_rows(const ForeignStep& step, const StepTrace& trace);
  void look_at_computed(const ForeignStep& step, const ForeignImporter& importer);

  ForeignHeader header_;
  std::string hiding_;
  std::string doubt_;
  bool tells_registrations_ = false;        // some line does
  bool tells_hashes_after_output_ = false;  // some line does
  bool tells_losses_ = false;               // some line does, in either member
  std::int64_t full_block_at_ = 0;          // the step in which a block was full first; 0: none
  std::int64_t num_computed_copies_ = 0;    // of the steps before
  std::int64_t num_computed_cudagraphs_ = 0;
};

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
