#include "sessions/plan/plan_goals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "core/base/result.h"
#include "sessions/text/json_value.h"
#include "sessions/text/number_words.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {
namespace {

using F = PlanFigures;

template <std::int64_t F::*kMember>
constexpr PlanGoal fewer(std::string_view name, std::string_view words,
                         std::int64_t F::*whole = nullptr) {
  return {.name = name,
          .words = words,
          .more_is_better = false,
          .whole = whole,
          .value = [](const F& f) { return static_cast<double>(f.*kMember); },
          .shown = [](const F& f) { return grouped_number(f.*kMember); }};
}

std::string gibibytes(std::int64_t bytes) {
  constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;
  if (bytes < kGibibyte / 10) return fmt::format("{} bytes", grouped_number(bytes));
  return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / static_cast<double>(kGibibyte));
}
double in_ms(std::int64_t us) { return static_cast<double>(us) / 1000; }
std::string milliseconds(std::int64_t us) { return fmt::format("{:.1f} ms", in_ms(us)); }

constexpr PlanGoal kGoals[] = {
    {.name = "hits",
     .words = "share of the prompt tokens that the prefix cache serves",
     .more_is_better = true,
     .is_share = true,
     .value = [](const F& f) { return f.hit_rate(); },
     .shown = [](const F& f) { return fmt::format("{:.1f} %", 100 * f.hit_rate()); }},
    {.name = "concurrency",
     .words = "most requests that run at once",
     .more_is_better = true,
     .value = [](const F& f) { return static_cast<double>(f.running.most); },
     .shown = [](const F& f) { return grouped_number(f.running.most); }},
    {.name = "waiting",
     .words = "requests that wait, on average over steps",
     .more_is_better = false,
     .value = [](const F& f) { return f.average(f.waiting); },
     .shown = [](const F& f) { return fmt::format("{:.1f}", f.average(f.waiting)); }},
    fewer<&F::computed_prompt_tokens>("computed", "prompt tokens that are computed"),
    fewer<&F::preemptions>("preemptions", "requests that lose their blocks", &F::requests_finished),
    fewer<&F::lost_tokens>("lost", "tokens computed again after preemptions",
                           &F::computed_prompt_tokens),
    {.name = "copies",
     .words = "states copied",
     .more_is_better = false,
     .value = [](const F& f) { return static_cast<double>(f.state_copy_bytes); },
     .shown = [](const F& f) { return gibibytes(f.state_copy_bytes); }},
    fewer<&F::graph_padded_tokens>("padding", "padding tokens in CUDA graphs"),
    fewer<&F::steps>("steps", "steps until the traffic is served"),
    {.name = "blocks",
     .words = "most blocks that requests hold",
     .more_is_better = false,
     .value = [](const F& f) { return static_cast<double>(f.used_blocks.most); },
     .shown = [](const F& f) { return grouped_number(f.used_blocks.most); }},
    {.name = "throughput",
     .words = "output tokens a second, under the assumed step time",
     .more_is_better = true,
     .needs_step_time = true,
     .value = [](const F& f) { return f.throughput(); },
     .shown = [](const F& f) { return fmt::format("{:.1f}/s", f.throughput()); }},
    {.name = "first_token",
     .words = "ms to the first token, 90 % of the requests, under the assumed step time",
     .more_is_better = false,
     .needs_step_time = true,
     .value = [](const F& f) { return in_ms(f.latency.first_token.p90_us); },
     .shown = [](const F& f) { return milliseconds(f.latency.first_token.p90_us); }},
    {.name = "between_tokens",
     .words = "ms between tokens, 90 % of the tokens, under the assumed step time",
     .more_is_better = false,
     .needs_step_time = true,
     .value = [](const F& f) { return in_ms(f.latency.between_tokens.p90_us); },
     .shown = [](const F& f) { return milliseconds(f.latency.between_tokens.p90_us); }},
};

// Figures that are named besides the goals.
constexpr std::size_t kMostOthers = 3;

struct Bounds {
  double best = 0;
  double worst = 0;
};

class Comparison {
 public:
  Comparison(std::span<const PlanResult> results, std::span<const PlanGoal* const> goals)
      : results_(results), goals_(goals) {
    for (std::size_t i = 0; i < results.size(); ++i)
      if (results[i].ran()) ran_.push_back(i);
    for (const PlanGoal* goal : goals) {
      Bounds bounds;
      for (const std::size_t i : ran_) {
        const double value = goal->value(results[i].figures);
        if (i == ran_.front()) bounds = {value, value};
        if (beats(*goal, value, bounds.best)) bounds.best = value;
        if (beats(*goal, bounds.worst, value)) bounds.worst = value;
      }
      bounds_.push_back(bounds);
    }
  }

  PlanChoice choice() const {
    std::vector<std::pair<double, std::size_t>> front;
    for (const std::size_t i : ran_)
      if (std::ranges::none_of(ran_, [&](std::size_t other) { return excludes(other, i); }))
        front.emplace_back(sum_of_losses(i), i);
    std::ranges::sort(front);
    PlanChoice made;
    for (const auto& [sum, i] : front) made.front.push_back(i);
    if (front.empty()) return made;
    const auto near = std::ranges::find_if(
        front, [&](const auto& one) { return one.first > front.front().first + kNearEqual; });
    const auto num_near = near - front.begin();
    const auto best =
        std::ranges::min_element(made.front.begin(), made.front.begin() + num_near, {},
                                 [&](std::size_t i) { return results_[i].num_changes; });
    std::rotate(made.front.begin(), best, best + 1);
    for (std::size_t g = 0; g < goals_.size(); ++g)
      made.losses.push_back({goals_[g], loss(made.recommended(), g)});
    return made;
  }

 private:
  static bool beats(const PlanGoal& goal, double a, double b) {
    return goal.more_is_better ? a > b : a < b;
  }
  // The simplest first.
  std::tuple<std::int64_t, std::int64_t, std::size_t> rank(std::size_t i) const {
    return {results_[i].num_changes, results_[i].figures.steps, i};
  }
  double value(std::size_t i, std::size_t g) const {
    const double own = goals_[g]->value(results_[i].figures);
    return near_equal(own, bounds_[g].best) ? bounds_[g].best : own;
  }
  // Keeps `a` another result off the front?
  bool excludes(std::size_t a, std::size_t of) const {
    bool better = false;
    for (std::size_t g = 0; g < goals_.size(); ++g) {
      if (beats(*goals_[g], value(of, g), value(a, g))) return false;
      better = better || beats(*goals_[g], value(a, g), value(of, g));
    }
    return better || rank(a) < rank(of);
  }
  double loss(std::size_t i, std::size_t g) const {
    const Bounds& bounds = bounds_[g];
    const double distance = std::abs(bounds.best - value(i, g));
    const std::int64_t whole =
        goals_[g]->whole == nullptr ? 0 : results_[i].figures.*goals_[g]->whole;
    const double largest = whole > 0 ? static_cast<double>(whole)
                                     : std::max(std::abs(bounds.best), std::abs(bounds.worst));
    return goals_[g]->is_share || largest <= 0 ? distance : distance / largest;
  }
  double sum_of_losses(std::size_t i) const {
    double sum = 0;
    for (std::size_t g = 0; g < goals_.size(); ++g) sum += loss(i, g);
    return sum;
  }

  std::span<const PlanResult> results_;
  std::span<const PlanGoal* const> goals_;
  std::vector<std::size_t> ran_;
  std::vector<Bounds> bounds_;  // [goals]
};

}  // namespace

std::span<const PlanGoal> plan_goals() { return kGoals; }

const PlanGoal& plan_goal(std::string_view name) {
  const auto found = std::ranges::find(kGoals, name, &PlanGoal::name);
  HS_EXPECT(found != std::end(kGoals));
  return *found;
}

bool near_equal(double a, double b) {
  return std::abs(a - b) <= kNearEqual * std::max(std::abs(a), std::abs(b));
}

bool near_equal(const PlanFigures& a, const PlanFigures& b,
                std::span<const PlanGoal* const> goals) {
  return std::ranges::all_of(
      goals, [&](const PlanGoal* goal) { return near_equal(goal->value(a), goal->value(b)); });
}

std::string figure_differences(const PlanFigures& a, const PlanFigures& b,
                               std::span<const PlanGoal* const> goals,
                               std::span<const std::string_view> without) {
  std::vector<std::pair<double, const PlanGoal*>> differing;  // by the share that is left
  for (const PlanGoal& goal : kGoals) {
    if (std::ranges::find(without, goal.name) != without.end()) continue;
    const double of_a = goal.value(a);
    const double of_b = goal.value(b);
    if (near_equal(of_a, of_b) || goal.shown(a) == goal.shown(b)) continue;
    const double larger = std::max(std::abs(of_a), std::abs(of_b));
    const bool is_wanted = std::ranges::find(goals, &goal) != goals.end();
    differing.emplace_back(is_wanted ? -1 : 1 - std::abs(of_a - of_b) / larger, &goal);
  }
  std::ranges::stable_sort(differing, {}, &std::pair<double, const PlanGoal*>::first);
  std::vector<std::string> words;
  std::size_t others = 0;
  for (const auto& [left, goal] : differing)
    if (left < 0 || ++others <= kMostOthers)
      words.push_back(
          fmt::format("{} {} rather than {}", goal->name, goal->shown(a), goal->shown(b)));
  return fmt::format("{}", fmt::join(words, ", "));
}

Result<std::vector<const PlanGoal*>> parse_goals(std::string_view text) {
  std::vector<const PlanGoal*> goals;
  for (const std::string_view name : split_text(text, ',')) {
    const auto found = std::ranges::find(kGoals, name, &PlanGoal::name);
    if (found == std::end(kGoals)) {
      std::vector<std::string_view> known;
      for (const PlanGoal& goal : kGoals) known.push_back(goal.name);
      return invalid_input(fmt::format("there is no goal {}{} (goals: {})", quoted_text(name),
                                       nearest_key_hint(name, known), fmt::join(known, ", ")));
    }
    if (std::ranges::find(goals, &*found) != goals.end())
      return invalid_input(fmt::format("goal {} is named twice", name));
    goals.push_back(&*found);
  }
  return goals;
}

Status check_goals(std::span<const PlanGoal* const> goals, bool has_step_time) {
  for (const PlanGoal* goal : goals)
    if (goal->needs_step_time && !has_step_time)
      return invalid_input(fmt::format("{} needs a step time", goal->name));
  return Ok{};
}

PlanChoice choose(std::span<const PlanResult> results, std::span<const PlanGoal* const> goals) {
  return Comparison(results, goals).choice();
}

namespace {

// "12.3 / 40": on average over steps, and at most.
std::string average_and_most(const F& figures, const CountOverSteps& count) {
  return fmt::format("{:.1f} / {}", figures.average(count), grouped_number(count.most));
}

std::string shown_percentiles(const Percentiles& of) {
  const auto in_ms = [](std::int64_t us) { return static_cast<double>(us) / 1000; };
  return fmt::format("{:.1f} / {:.1f} / {:.1f}", in_ms(of.p50_us), in_ms(of.p90_us),
                     in_ms(of.p99_us));
}

// A goal whose value is a count.
PlanColumn count(std::string_view name, std::string_view goal) {
  const PlanGoal& of = plan_goal(goal);
  return {.name = name, .words = of.words, .is_count = true, .value = of.value, .shown = of.shown};
}

template <BlockKind kKind>
constexpr PlanColumn blocks(std::string_view name, std::string_view words) {
  return {.name = name,
          .words = words,
          .value = [](const F& f) { return f.average(f.blocks[std::size_t(kKind)]); },
          .shown = [](const F& f) { return average_and_most(f, f.blocks[std::size_t(kKind)]); }};
}

template <Percentiles PlanLatency::*kMember>
constexpr PlanColumn percentiles(std::string_view name, std::string_view words) {
  return {.name = name,
          .words = words,
          .needs_step_time = true,
          .value = [](const F& f) { return static_cast<double>((f.latency.*kMember).p90_us); },
          .shown = [](const F& f) { return shown_percentiles(f.latency.*kMember); }};
}

constexpr double kBytesInGiB = 1024.0 * 1024 * 1024;

const PlanColumn kColumns[] = {
    {.name = "hit %",
     .words = plan_goal("hits").words,
     .value = [](const F& f) { return f.hit_rate(); },
     .shown = [](const F& f) { return fmt::format("{:.1f}", 100 * f.hit_rate()); }},
    {.name = "hit tokens",
     .words = "prompt tokens that the prefix cache served at first admissions",
     .is_count = true,
     .value = [](const F& f) { return static_cast<double>(f.hit_tokens); },
     .shown = [](const F& f) { return grouped_number(f.hit_tokens); }},
    count("computed", "computed"),
    {.name = "running",
     .words = "requests that have blocks: average / most over steps",
     .value = [](const F& f) { return f.average(f.running); },
     .shown = [](const F& f) { return average_and_most(f, f.running); }},
    blocks<BlockKind::attention>("attention",
                                 "attention blocks that requests hold: average / most over steps"),
    blocks<BlockKind::running_state>("state",
                                     "blocks with running states: average / most over steps"),
    blocks<BlockKind::draft>("drafts",
                             "blocks with states of draft tokens: average / most over steps"),
    blocks<BlockKind::snapshot>(
        "snapshots", "snapshots of states that requests hold: average / most over steps"),
    count("preempted", "preemptions"),
    count("lost", "lost"),
    {.name = "copied GiB",
     .words = plan_goal("copies").words,
     .value = [](const F& f) { return static_cast<double>(f.state_copy_bytes); },
     .shown =
         [](const F& f) {
           return fmt::format("{:.2f}", static_cast<double>(f.state_copy_bytes) / kBytesInGiB);
         }},
    count("padding", "padding"),
    count("steps", "steps"),
    {.name = "tokens/s",
     .words = plan_goal("throughput").words,
     .needs_step_time = true,
     .value = [](const F& f) { return f.throughput(); },
     .shown = [](const F& f) { return fmt::format("{:.1f}", f.throughput()); }},
    percentiles<&PlanLatency::first_token>(
        "first token ms", "from arrival to the first token: 50 / 90 / 99 % of requests"),
    percentiles<&PlanLatency::between_tokens>("between tokens ms",
                                              "between tokens: 50 / 90 / 99 % of tokens"),
};

}  // namespace

std::vector<const PlanColumn*> plan_columns(bool has_step_time) {
  std::vector<const PlanColumn*> columns;
  for (const PlanColumn& column : kColumns)
    if (!column.needs_step_time || has_step_time) columns.push_back(&column);
  return columns;
}

}  // namespace hybridscope
