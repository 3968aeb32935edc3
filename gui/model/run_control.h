// Moves a run forward in slices of work so that the window stays responsive: playing at a speed, or
// going to a step; and the breakpoints that end a move.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "gui/model/picture.h"
#include "gui/model/shown_run.h"
#include "sessions/breakpoint/break_condition.h"

namespace hybridscope {

// Breakpoints: the expressions of `run --break`, with the steps in which each held.

class Workbench;

struct Breakpoint {
  BreakCondition condition;
  bool enabled = true;
  std::vector<std::int64_t> held = {};  // steps it held for since it was set, ascending
  std::int64_t hits() const { return static_cast<std::int64_t>(held.size()); }
};

class Breakpoints {
 public:
  // `level`: of the run that is open. Error invalid_input: three lines, the last two point into the
  // expression; one that is set already; one that needs data not recorded at that level.
  Status add(std::string_view expression, RecordLevel level = RecordLevel::full);
  // Error invalid_input: an enabled one needs data not recorded at that level.
  Status check_level(RecordLevel level) const;
  // Index into list(). False: there is none of that number.
  bool remove(std::size_t index);
  bool toggle(std::size_t index);
  void clear() { list_.clear(); }
  // Counts a step, once, for the one with this expression, if there is one.
  void count_hit(std::string_view expression, std::int64_t step);
  void clear_hits();
  // The steps after this one have changed.
  void forget_hits_after(std::int64_t step);

  const std::vector<Breakpoint>& list() const { return list_; }

  struct Stop {
    std::size_t index = 0;
    BreakHit hit;
  };
  // Counts the step, once, for every enabled one that holds; the first of them stops the run.
  std::optional<Stop> check(const StepView& view);

 private:
  std::vector<Breakpoint> list_;
};

// The list, with a field for a new one.
Picture breakpoints_picture(Workbench& workbench);

enum class RunMotion : std::uint8_t {
  paused,
  playing,  // at a speed, until the end or a breakpoint
  going,    // to a step that is not known yet, or on to the next breakpoint
};

// Why a motion ended, as a sentence; empty: it has not ended.
struct MotionEnd {
  std::string words;
  std::optional<Breakpoints::Stop> stop;  // by a breakpoint
  std::optional<Error> error;             // by the engine or the file
};

class RunControl {
 public:
  // Steps per second; 0: as fast as possible.
  static constexpr std::array<std::int32_t, 5> kSpeeds{1, 4, 16, 60, 0};

  RunMotion motion() const { return motion_; }
  std::int64_t target() const { return target_; }  // while going
  int speed() const { return speed_; }             // index into kSpeeds
  void set_speed(int speed);

  void play();
  void pause() { motion_ = RunMotion::paused; }
  // Goes to a step that the run may not know yet; the largest number: to the end.
  void go(std::int64_t target, bool stops_at_breakpoints);
  // Goes on to a known step after begin_go_to(), without showing the steps before it.
  void return_to(std::int64_t target);
  bool is_returning() const { return motion_ == RunMotion::going && returns_; }

  // Moves `run` for at most `budget_us` of `clock_us`, in microseconds. Returns the reason if the
  // motion ends in this slice.
  struct Slice {
    std::int64_t budget_us = 0;
    const std::function<std::int64_t()>& clock_us;
  };
  std::optional<MotionEnd> advance(ShownRun& run, Breakpoints& breakpoints, const Slice& slice);

 private:
  std::optional<MotionEnd> step_once(ShownRun& run, Breakpoints& breakpoints);
  bool is_due(std::int64_t now_us);

  RunMotion motion_ = RunMotion::paused;
  int speed_ = 1;
  std::int64_t target_ = 0;
  bool stops_at_breakpoints_ = true;
  bool returns_ = false;
  std::int64_t next_due_us_ = 0;  // when playing at a speed; 0: at once
};

}  // namespace hybridscope
