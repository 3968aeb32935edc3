// Judges one trace: each told step is executed on symbolic state and checked.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "core/base/result.h"
#include "core/check/step_checker.h"
#include "sessions/explain/explain_names.h"
#include "sessions/judge/foreign_importer.h"
#include "sessions/judge/foreign_trace.h"

namespace hybridscope {

// A step with what was found in it; valid until the next one.
struct JudgedStep {
  const StepTrace& trace;
  std::span<const Finding> findings;
  const BlockTableMirror& scheduler_tables;  // after the step
  std::span<const StateWrite> writes;        // log_writes()
};

class TraceJudge {
 public:
  // Errors: a set-up that no engine can have, with a pointer into the header.
  static Result<TraceJudge> create(const ForeignHeader& header);

  // Errors: what ForeignImporter::import answers; the trace cannot be judged any further.
  Result<JudgedStep> judge(const ForeignStep& step, CheckScope scope);

  // From the next step on: a step comes with every write to state that it carries out.
  void log_writes() { checker_.log_writes(); }

  const EngineConfig& config() const { return importer_.config(); }
  // Steps in which something was computed because the trace does not tell it.
  std::int64_t num_computed(Computed what) const { return importer_.num_computed(what); }
  std::int64_t num_steps() const { return num_steps_; }
  std::int64_t num_request_steps() const { return num_request_steps_; }

 private:
  TraceJudge(ForeignImporter importer, StepChecker checker);

  ForeignImporter importer_;
  StepChecker checker_;
  std::int64_t num_steps_ = 0;
  std::int64_t num_request_steps_ = 0;
};

}  // namespace hybridscope
