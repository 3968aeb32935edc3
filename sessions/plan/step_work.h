// What of a step an assumed step time depends on (docs/plan.md, Step time).
#pragma once

#include <cstdint>

#include "core/engine/engine_config.h"
#include "core/trace/step_trace.h"
#include "sessions/run/run_summary.h"

namespace hybridscope {

struct StepWork {
  std::int64_t prefill = 0;       // tokens of prompts, as long as the prompt is computed first
  std::int64_t decode = 0;        // other tokens: drafts, and output that is computed again
  std::int64_t copied_bytes = 0;  // of states, before and after the forward pass
  friend bool operator==(const StepWork&, const StepWork&) = default;
};

class StepWorkCounter {
 public:
  // The states' sizes are those of `config`.
  explicit StepWorkCounter(const EngineConfig& config) : bytes_(config) {}

  StepWork count(const StepTrace& trace) const;

 private:
  SummaryBuilder bytes_;
};

}  // namespace hybridscope
