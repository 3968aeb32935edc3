#include "sessions/run/drive.h"

#include <algorithm>

namespace hybridscope {

bool any_wants_writes(std::span<StepSink* const> sinks) {
  return std::ranges::any_of(sinks, [](const StepSink* sink) { return sink->wants_writes(); });
}

Driven hand_on(const CheckedStep& step, std::span<StepSink* const> sinks) {
  Going going = Going::on;
  for (StepSink* const sink : sinks) {
    const auto taken = sink->take(step);
    if (!taken.ok()) {
      Driven refused = taken.error();
      refused.refused_by = sink;
      return refused;
    }
    if (taken.value() == Going::stop) going = Going::stop;
  }
  return going;
}

Driven drive(JudgedSteps& run, std::span<StepSink* const> sinks, const StopAsked& stop) {
  if (any_wants_writes(sinks)) run.log_writes();
  while (!run.has_ended()) {
    if (stop && stop()) return Going::stop;
    const auto step = run.next();
    if (!step.ok()) return step.error();
    if (!step.value()) break;
    if (const Driven handed = hand_on(*step.value(), sinks);
        !handed.ok() || handed.value() == Going::stop)
      return handed;
  }
  return Going::on;
}

}  // namespace hybridscope
