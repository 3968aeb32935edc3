// What a plan can be asked to prefer, which of its results no other one beats, which of those it
// recommends (docs/plan.md, Goals), and the figures that its tables show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/plan/plan_figures.h"
#include "sessions/plan/plan_run.h"

namespace hybridscope {

// One row per goal.
struct PlanGoal {
  std::string_view name;   // "hits"
  std::string_view words;  // "prompt tokens served by the prefix cache"
  bool more_is_better = false;
  bool is_share = false;         // from 0 to 1
  bool needs_step_time = false;  // it means nothing without one
  // What a loss is a share of; null: of the larger of the best and the worst value.
  std::int64_t PlanFigures::*whole = nullptr;
  double (*value)(const PlanFigures&) = nullptr;
  std::string (*shown)(const PlanFigures&) = nullptr;  // "36.6 %"
};
std::span<const PlanGoal> plan_goals();
const PlanGoal& plan_goal(std::string_view name);  // requires: there is one

inline constexpr std::string_view kDefaultGoals = "hits,concurrency,preemptions,lost";

// "hits,concurrency". Error: an unknown goal, with the nearest; none; one twice.
Result<std::vector<const PlanGoal*>> parse_goals(std::string_view text);
// Error: one needs a step time, and there is none.
Status check_goals(std::span<const PlanGoal* const> goals, bool has_step_time);

// Near equal is equal: values that differ by at most this share of the larger one.
inline constexpr double kNearEqual = 0.02;
bool near_equal(double a, double b);
// In every goal.
bool near_equal(const PlanFigures& a, const PlanFigures& b, std::span<const PlanGoal* const> goals);

// "hits 36.6 % rather than 31.0 %, preemptions 27 rather than 0": where `a` differs from `b`,
// `goals` first, then the three others that differ most; empty: nowhere. Goals of `without` are
// left out.
std::string figure_differences(const PlanFigures& a, const PlanFigures& b,
                               std::span<const PlanGoal* const> goals,
                               std::span<const std::string_view> without = {});

// How much of a goal a result gives up: its distance from the best result, where the goal is no
// share itself as a share of PlanGoal::whole. What is near equal to the best gives up nothing.
struct GoalLoss {
  const PlanGoal* goal = nullptr;
  double share = 0;
};

struct PlanChoice {
  // Indices of results: the recommended one, then the others, the smallest sum of losses first.
  std::vector<std::size_t> front = {};
  std::vector<GoalLoss> losses = {};  // of the recommended one, [goals]
  bool has_recommendation() const { return !front.empty(); }
  std::size_t recommended() const { return front.front(); }
};

// The front: results that ran and that no other result equals or beats in every goal and beats in
// one; values near equal to the best one count as the best. Of equal results the simplest counts:
// the one with the fewest changes from the defaults, then with the fewest steps, then the first.
// Recommended is the one with the fewest changes of those whose sum of losses is at most kNearEqual
// above the smallest, then the one with the smallest sum.
PlanChoice choose(std::span<const PlanResult> results, std::span<const PlanGoal* const> goals);

// The figures that a table of a plan's results shows, one row per column: for the command line and
// the window (docs/plan.md, Figures).

struct PlanColumn {
  std::string_view name;                          // "hit %"
  std::string_view words;                         // what is counted
  bool needs_step_time = false;                   // absent where none is assumed
  bool is_count = false;                          // one whole number
  double (*value)(const PlanFigures&) = nullptr;  // orders
  std::string (*shown)(const PlanFigures&) = nullptr;
};

// In the order of the table.
std::vector<const PlanColumn*> plan_columns(bool has_step_time);

}  // namespace hybridscope
