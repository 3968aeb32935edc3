#include "sessions/plan/plan_reasons.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sessions/plan/size_words.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

constexpr std::size_t kMostValuesNamed = 3;

class Reasons {
 public:
  explicit Reasons(const PlanReasonsInput& input)
      : in_(input),
        best_(input.results[input.choice.recommended()]),
        best_case_(input.sweep.called(best_.name).value()) {}

  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for (const GoalLoss& loss : in_.choice.losses) lines.push_back(goal_line(loss));
    add_equal_line(lines);
    for (std::size_t axis = 0; axis < in_.sweep.axes().size(); ++axis) add_axis(axis, lines);
    lines.push_back(pool_line());
    add_block_line(lines);
    return lines;
  }

 private:
  const PlanResult* result_called(const std::string& name) const {
    const auto found = std::ranges::find(in_.results, name, &PlanResult::name);
    return found == in_.results.end() ? nullptr : &*found;
  }

  // Other results that show the same in every goal.
  void add_equal_line(std::vector<std::string>& lines) const {
    std::vector<std::string> names;
    for (const PlanResult& result : in_.results)
      if (result.ran() && &result != &best_ && look_alike(best_.figures, result.figures, in_.goals))
        names.push_back(result.name);
    if (names.empty()) return;
    lines.push_back(fmt::format(
        "equal in every goal as shown: {}; of equal ones the first with the fewest steps is "
        "recommended",
        first_values(names)));
  }

  // The first of the results that are best in the goal.
  const PlanResult& best_of(const PlanGoal& goal) const {
    const PlanResult* best = &best_;
    for (const PlanResult& result : in_.results) {
      if (!result.ran()) continue;
      const double value = goal.value(result.figures);
      const double most = goal.value(best->figures);
      if (goal.more_is_better ? value > most : value < most) best = &result;
    }
    return *best;
  }

  std::string goal_line(const GoalLoss& loss) const {
    const PlanGoal& goal = *loss.goal;
    const std::string mine =
        fmt::format("{} ({}): {}", goal.name, goal.words, goal.shown(best_.figures));
    const PlanResult& best = best_of(goal);
    if (&best == &best_) return mine + ", which none beats";
    if (goal.shown(best.figures) == goal.shown(best_.figures))
      return fmt::format("{}; {} is better by less than is shown", mine, best.name);
    return fmt::format("{}; {} reaches {}", mine, best.name, goal.shown(best.figures));
  }

  void add_axis(std::size_t axis, std::vector<std::string>& lines) const {
    const SweepAxis& swept = in_.sweep.axes()[axis];
    if (swept.values.size() < 2) return;
    const std::string& own = swept.values[static_cast<std::size_t>(best_case_.values[axis])];
    const PlanResult* refused = nullptr;  // the first
    std::vector<std::string> refused_values;
    for (std::size_t value = 0; value < swept.values.size(); ++value) {
      PlanCase other = best_case_;
      other.values[axis] = static_cast<std::int32_t>(value);
      const std::string name = in_.sweep.at(in_.sweep.index_of(other)).name;
      const PlanResult* const result = result_called(name);
      if (result == nullptr || result == &best_) continue;
      const std::string choice =
          fmt::format("{} {}, not {}", swept.setting->name, own, swept.values[value]);
      if (!result->ran()) {
        if (refused == nullptr) refused = result;
        refused_values.push_back(swept.values[value]);
        continue;
      }
      const std::string differences = figure_differences(best_.figures, result->figures, in_.goals);
      if (differences.empty())
        lines.push_back(choice + ": makes no difference here");
      else if (differ_in(best_.figures, result->figures, in_.goals))
        lines.push_back(fmt::format("{}: {}", choice, differences));
      else
        lines.push_back(fmt::format("{}: equal in the goals; {}", choice, differences));
    }
    if (refused != nullptr)
      lines.push_back(fmt::format("{} {}, not {}: {}", swept.setting->name, own,
                                  first_values(refused_values), refused->refused));
  }

  // "3, 5, 7 and 4 more".
  static std::string first_values(const std::vector<std::string>& values) {
    const std::size_t shown = std::min(values.size(), kMostValuesNamed);
    std::string text = fmt::format(
        "{}", fmt::join(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
    if (shown < values.size()) text += fmt::format(" and {} more", values.size() - shown);
    return text;
  }

  std::string pool_line() const {
    const PlanFigures& f = best_.figures;
    std::string line = fmt::format("blocks: {}", block_use_words(best_));
    if (f.preemptions > 0)
      line += fmt::format("; the pool ran out: {}, {} tokens computed again",
                          counted(f.preemptions, "preemption"), grouped_number(f.lost_tokens));
    return line;
  }

  void add_block_line(std::vector<std::string>& lines) const {
    if (in_.model.empty()) return;
    const auto settings = in_.sweep.settings(best_case_, in_.model);
    if (!settings.ok()) return;
    const auto setup = make_engine_setup(in_.model, settings.value());
    if (setup.ok()) lines.push_back(why_block_size(setup.value().layout));
  }

  const PlanReasonsInput& in_;
  const PlanResult& best_;
  PlanCase best_case_;
};

}  // namespace

std::string block_use_words(const PlanResult& result) {
  const PlanFigures& f = result.figures;
  std::string words = fmt::format(
      "at most {} of {} in use, {:.1f} on average (", grouped_number(f.used_blocks.most),
      grouped_number(result.sizes.num_blocks - 1), f.average(f.used_blocks));
  for (std::size_t kind = 0; kind < kNumBlockKinds; ++kind)
    words += fmt::format("{}{} {:.1f}", kind == 0 ? "" : ", ", kBlockKindWords[kind],
                         f.average(f.blocks[kind]));
  return words + fmt::format("); {:.1f} more hold what a hit can use", f.average(f.cached_blocks));
}

std::vector<std::string> plan_reasons(const PlanReasonsInput& input) {
  return Reasons(input).lines();
}

}  // namespace hybridscope
