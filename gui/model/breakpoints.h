// Breakpoints: the expressions of `run --break`, with the steps in which each held.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "gui/model/picture.h"
#include "gui/model/shown_run.h"
#include "sessions/breakpoint/break_condition.h"

namespace hybridscope {

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

}  // namespace hybridscope
