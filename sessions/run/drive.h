// Drives a run: the only loop over steps. What becomes of a step is a sink's matter.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "core/base/result.h"
#include "sessions/run/step_judge.h"

namespace hybridscope {

// Does a run go on?
enum class Going : std::uint8_t { on, stop };

// Takes the steps of a run, one by one.
class StepSink {
 public:
  virtual ~StepSink() = default;
  // Does it read CheckedStep::writes? They are there when one of a run's sinks does. Asked once,
  // before the first step that it may take; requires then that the run is checked.
  virtual bool wants_writes() const { return false; }
  // The step is valid until the next one. stop: this was the last one that is wanted. Error: the
  // sink cannot take any more.
  virtual Result<Going> take(const CheckedStep& step) = 0;
};

// Where the judged steps of a run come from: our engine (CheckedRun), or the trace of another one
// (JudgedLines in sessions/job/judge_session.h).
class JudgedSteps {
 public:
  virtual ~JudgedSteps() = default;
  // From the next step on, steps come with their writes to state. Requires: they are checked.
  virtual void log_writes() = 0;
  // True: there is no next step. A trace knows it only when next() has met its end.
  virtual bool has_ended() const = 0;
  // The next step, judged; valid until the next call. Empty: there is none. Errors: those of the
  // engine or of the trace; no step can follow.
  virtual Result<std::optional<CheckedStep>> next() = 0;
};

// Asked before each step; true ends the run there.
using StopAsked = std::function<bool()>;

// What became of it; the error is the run's or a sink's.
struct Driven : Result<Going> {
  using Result<Going>::Result;
  const StepSink* refused_by = nullptr;  // whose error it is; null: the run's, or there is none
};

bool any_wants_writes(std::span<StepSink* const> sinks);

// Hands a step to all sinks, in their order: what a sink does that stands for several. Going::stop:
// one of them wants no more. A step that a sink refused reaches none behind it.
Driven hand_on(const CheckedStep& step, std::span<StepSink* const> sinks);

// Hands each step that is left to all sinks, in their order, until the run has ended (the result is
// Going::on), a sink wants no more, or `stop` says so (Going::stop). Errors: those of
// JudgedSteps::next and of the sinks.
Driven drive(JudgedSteps& run, std::span<StepSink* const> sinks, const StopAsked& stop = {});

// A function of a step as a sink; it may return nothing, Going, Status or Result<Going>.
template <class Take>
class SinkOf final : public StepSink {
 public:
  explicit SinkOf(Take take, bool wants_writes = false)
      : take_(std::move(take)), wants_writes_(wants_writes) {}
  bool wants_writes() const override { return wants_writes_; }
  Result<Going> take(const CheckedStep& step) override {
    using Returned = std::invoke_result_t<Take&, const CheckedStep&>;
    if constexpr (std::is_void_v<Returned>) {
      take_(step);
      return Going::on;
    } else if constexpr (std::is_convertible_v<Returned, Result<Going>>) {
      return take_(step);
    } else {
      if (const Status taken = take_(step); !taken.ok()) return taken.error();
      return Going::on;
    }
  }

 private:
  Take take_;
  bool wants_writes_;
};

// Drives the run with one sink, a function that takes each step.
template <std::invocable<const CheckedStep&> Take>
Driven drive(JudgedSteps& run, Take take, const StopAsked& stop = {}) {
  SinkOf<Take> sink(std::move(take));
  StepSink* const sinks[] = {&sink};
  return drive(run, sinks, stop);
}

}  // namespace hybridscope
