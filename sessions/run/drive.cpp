#include "sessions/run/drive.h"

#include <algorithm>

#include "sessions/run/checked_run.h"

namespace hybridscope {

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

Driven drive(CheckedRun& run, std::span<StepSink* const> sinks, const StopAsked& stop) {
  const auto wants_writes = [](const StepSink* sink) { return sink->wants_writes(); };
  if (std::ranges::any_of(sinks, wants_writes)) run.log_writes();
  while (!run.has_ended()) {
    if (stop && stop()) return Going::stop;
    const auto step = run.step();
    if (!step.ok()) return step.error();
    if (const Driven handed = hand_on(step.value(), sinks);
        !handed.ok() || handed.value() == Going::stop)
      return handed;
  }
  return Going::on;
}

}  // namespace hybridscope
