#include "sessions/run/drive.h"

#include "sessions/run/checked_run.h"

namespace hybridscope {

Result<Going> drive(CheckedRun& run, std::span<StepSink* const> sinks, const StopAsked& stop) {
  while (!run.has_ended()) {
    if (stop && stop()) return Going::stop;
    const auto step = run.step();
    if (!step.ok()) return step.error();
    Going going = Going::on;
    for (StepSink* const sink : sinks) {
      const auto taken = sink->take(step.value());
      if (!taken.ok()) return taken.error();
      if (taken.value() == Going::stop) going = Going::stop;
    }
    if (going == Going::stop) return Going::stop;
  }
  return Going::on;
}

}  // namespace hybridscope
