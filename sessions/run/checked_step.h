// What a judge makes of one step, whoever ran it: our engine, or one whose trace is read.
#pragma once

#include <span>

#include "core/check/finding.h"
#include "core/check/state_write.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

struct StepSpeech;

// One step and its findings; valid until the next step.
struct CheckedStep {
  const StepTrace& trace;
  std::span<const Finding> findings;
  std::span<const StateWrite> writes;  // to state, in order; empty unless they are logged
  // What a language model said and compared. Null: none runs, or it is not kept.
  const StepSpeech* speech = nullptr;
};

}  // namespace hybridscope
