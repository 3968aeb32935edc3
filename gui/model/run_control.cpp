#include "gui/model/run_control.h"

#include <fmt/core.h>

#include <algorithm>

namespace hybridscope {

void RunControl::set_speed(int speed) {
  speed_ = std::clamp(speed, 0, static_cast<int>(kSpeeds.size()) - 1);
  next_due_us_ = 0;
}

void RunControl::play() {
  motion_ = RunMotion::playing;
  stops_at_breakpoints_ = true;
  next_due_us_ = 0;
}

void RunControl::go(std::int64_t target, bool stops_at_breakpoints) {
  motion_ = RunMotion::going;
  target_ = target;
  stops_at_breakpoints_ = stops_at_breakpoints;
  returns_ = false;
}

void RunControl::return_to(std::int64_t target) {
  go(target, false);
  returns_ = true;
}

// Late steps are not caught up.
bool RunControl::is_due(std::int64_t now_us) {
  const std::int32_t speed = kSpeeds[static_cast<std::size_t>(speed_)];
  if (motion_ != RunMotion::playing || speed == 0) return true;
  if (now_us < next_due_us_) return false;
  next_due_us_ = now_us + 1'000'000 / speed;
  return true;
}

std::optional<MotionEnd> RunControl::step_once(ShownRun& run, Breakpoints& breakpoints) {
  const Result<bool> moved = run.forward();
  if (!moved.ok())
    return MotionEnd{.words = moved.error().message, .stop = {}, .error = moved.error()};
  if (!moved.value())
    return MotionEnd{
        .words = fmt::format("the run ends with step {}", run.step()), .stop = {}, .error = {}};
  const auto stop = breakpoints.check(run.view());
  if (stop && stops_at_breakpoints_)
    return MotionEnd{.words = fmt::format("step {}: {}", run.step(), stop->hit.words),
                     .stop = *stop,
                     .error = {}};
  if (motion_ == RunMotion::going && run.step() >= target_)
    return MotionEnd{.words = fmt::format("step {}", run.step()), .stop = {}, .error = {}};
  return std::nullopt;
}

std::optional<MotionEnd> RunControl::advance(ShownRun& run, Breakpoints& breakpoints,
                                             const Slice& slice) {
  if (motion_ == RunMotion::paused) return std::nullopt;
  const std::int64_t start = slice.clock_us();
  std::int64_t now = start;
  do {
    if (!is_due(now)) return std::nullopt;
    if (auto end = step_once(run, breakpoints)) {
      motion_ = RunMotion::paused;
      return end;
    }
    now = slice.clock_us();
  } while (now - start < slice.budget_us);
  return std::nullopt;
}

}  // namespace hybridscope
