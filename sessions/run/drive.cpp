#include "sessions/run/drive.h"

#include <algorithm>

#include "sessions/run/checked_run.h"

namespace hybridscope {

Driven drive(CheckedRun& run, std::span<StepSink* const> sinks, const StopAsked& stop) {
  const auto wants_writes = [](const StepSink* sink) { return sink->wants_writes(); };
  if (std::ranges::any_of(sinks, wants_writes)) run.log_writes();
  while (!run.has_ended()) {
    if (stop && stop()) return Going::stop;
    const auto step = run.step();
    if (!step.ok()) return step.error();
    Going going = Going::on;
    for (StepSink* const sink : sinks) {
      const auto taken = sink->take(step.value());
      if (!taken.ok()) {
        Driven refused = taken.error();
        refused.refused_by = sink;
        return refused;
      }
      if (taken.value() == Going::stop) going = Going::stop;
    }
    if (going == Going::stop) return Going::stop;
  }
  return Going::on;
}

}  // namespace hybridscope
