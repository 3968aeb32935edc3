#include "sessions/plan/plan_story.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <utility>

#include "sessions/plan/size_answer.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/text/number_words.h"

namespace hybridscope {

PlanStory::PlanStory(const PlanContents& contents, const Sweep& sweep,
                     std::vector<const PlanGoal*> goals, std::int64_t num_requests)
    : contents_(contents),
      sweep_(sweep),
      goals_(std::move(goals)),
      num_requests_(num_requests),
      results_(results_in("")),
      choice_(choose(results_, goals_)) {
  if (contents.header.step_time.empty()) return;
  for (const OtherStepTime& other : kOtherStepTimes) sensitivity_.push_back(sensitivity_of(other));
}

std::vector<PlanResult> PlanStory::results_in(std::string_view suffix) const {
  std::vector<PlanResult> results;
  for (std::int64_t index = 0; index < sweep_.size(); ++index)
    if (const auto found = contents_.results.find(sweep_.at(index).name + std::string(suffix));
        found != contents_.results.end())
      results.push_back(found->second);
  return results;
}

PlanSensitivity PlanStory::sensitivity_of(const OtherStepTime& other) const {
  PlanSensitivity made{.words = std::string(other.words), .recommended = {}};
  const std::vector<PlanResult> results = results_in(other.suffix);
  const PlanChoice choice = choose(results, goals_);
  if (!choice.has_recommendation() || results.size() < results_.size()) return made;
  const PlanResult& best = results[choice.recommended()];
  made.recommended = best.name.substr(0, best.name.size() - other.suffix.size());
  if (!choice_.has_recommendation()) return made;
  // One that is as good in every goal would be no other recommendation.
  const std::string& own = results_[choice_.recommended()].name;
  const auto there = contents_.results.find(own + std::string(other.suffix));
  const bool as_good = there != contents_.results.end() && there->second.ran() &&
                       near_equal(there->second.figures, best.figures, goals_);
  if (as_good) made.recommended = own;
  return made;
}

PlanView PlanStory::view() const {
  return {.header = contents_.header,
          .sweep = sweep_,
          .results = results_,
          .goals = goals_,
          .choice = choice_,
          .num_requests = num_requests_,
          .sensitivity = sensitivity_};
}

std::vector<std::size_t> plan_order(const PlanView& view) {
  std::vector<std::size_t> order = view.choice.front;
  for (const bool ran : {true, false})
    for (std::size_t i = 0; i < view.results.size(); ++i)
      if (view.results[i].ran() == ran && !is_on_front(view, i)) order.push_back(i);
  return order;
}

bool is_on_front(const PlanView& view, std::size_t result) {
  return std::ranges::find(view.choice.front, result) != view.choice.front.end();
}

bool is_recommended(const PlanView& view, std::size_t result) {
  return view.choice.has_recommendation() && view.choice.recommended() == result;
}

namespace {

// "8.2 s", "3.4 min", "88 min".
std::string duration_words(std::int64_t us) {
  const double minutes = static_cast<double>(us) / 60e6;
  if (minutes < 2) return fmt::format("{:.1f} s", 60 * minutes);
  return minutes < 10 ? fmt::format("{:.1f} min", minutes) : fmt::format("{:.0f} min", minutes);
}

// Do requests wait well after the last one arrived?
bool is_overloaded(const PlanHeader& header, const PlanFigures& figures) {
  const bool in_time = !header.step_time.empty();
  const auto last = static_cast<double>(in_time ? header.arrivals_us : figures.last_arrival_step);
  const auto empty =
      static_cast<double>(in_time ? figures.latency.queue.empty : figures.queue.empty);
  return header.arrivals_us > 0 && empty > last && !near_equal(empty, last);
}

// "at most 12 requests, 3.4 min after the first arrival; the queue is empty again after 5.0 min".
std::string waiting_words(const PlanHeader& header, const PlanFigures& figures) {
  if (figures.waiting.most == 0) return "none";
  const bool in_time = !header.step_time.empty();
  const LongestQueue& queue = in_time ? figures.latency.queue : figures.queue;
  const auto place = [&](std::int64_t at) {
    return in_time ? duration_words(at) : "step " + grouped_number(at);
  };
  std::string words =
      fmt::format("at most {}, {}{}{}", counted(figures.waiting.most, "request"),
                  in_time ? "" : "in ", place(queue.at), in_time ? " after the first arrival" : "");
  if (queue.empty > 0)
    words += fmt::format("; the queue is empty again {} {}", in_time ? "after" : "in",
                         place(queue.empty));
  return words;
}

}  // namespace

std::string overload_words(const PlanView& view) {
  if (!view.choice.has_recommendation()) return {};
  const PlanFigures& figures = view.results[view.choice.recommended()].figures;
  if (!is_overloaded(view.header, figures)) return {};
  std::string words;
  if (view.header.step_time.empty()) {
    words = fmt::format(
        "overload at the simulated step_cost: requests wait until {} steps after the last arrival; "
        "how many such engines it takes follows from --step-time",
        grouped_number(figures.queue.empty - figures.last_arrival_step));
  } else {
    const std::int64_t needed = figures.latency.queue.empty;
    const std::int64_t arrivals = view.header.arrivals_us;
    const std::int64_t tenths = (10 * needed + arrivals - 1) / arrivals;
    words =
        fmt::format("overload: this engine needs {} for {} of arrivals; about {}.{} such engines",
                    duration_words(needed), duration_words(arrivals), tenths / 10, tenths % 10);
  }
  for (const std::size_t i : plan_order(view))
    if (view.results[i].ran() && !is_overloaded(view.header, view.results[i].figures))
      return fmt::format("{}; {} keeps up", words, view.results[i].name);
  return words;
}

std::string plan_counts(const PlanView& view) {
  const auto ran = std::ranges::count_if(view.results, &PlanResult::ran);
  const auto stuck = std::ranges::count_if(view.results, &PlanResult::did_not_end);
  std::string text =
      fmt::format("{} of {} run", grouped_number(ran), counted(view.sweep.size(), "combination"));
  const std::pair<std::int64_t, std::string_view> others[] = {
      {std::ssize(view.results) - ran - stuck, "not possible"},
      {stuck, "did not end"},
      {view.sweep.size() - std::ssize(view.results), "not run"},
      {view.sweep.num_equal(), "more would equal one of them"}};
  for (const auto& [count, words] : others)
    if (count > 0) text += fmt::format(", {} {}", grouped_number(count), words);
  return text;
}

std::string plan_heading(const PlanView& view) {
  std::string text = fmt::format("{} on {}", view.header.model, view.header.traffic);
  if (view.num_requests > 0) text += fmt::format(", {}", counted(view.num_requests, "request"));
  return fmt::format("{}; {}", text, plan_counts(view));
}

std::vector<std::string> refused_lines(const PlanView& view, std::size_t most) {
  struct Group {
    const PlanResult* first;
    std::int64_t size = 0;
  };
  std::vector<Group> groups;
  for (const PlanResult& result : view.results) {
    if (result.ran()) continue;
    const auto same = [&](const Group& group) { return group.first->refused == result.refused; };
    auto group = std::ranges::find_if(groups, same);
    if (group == groups.end()) group = groups.insert(group, {.first = &result});
    ++group->size;
  }
  std::vector<std::string> lines;
  std::int64_t left = 0;
  for (const auto& [first, size] : groups) {
    if (lines.size() >= most) {
      left += size;
      continue;
    }
    const std::string more = size > 1 ? fmt::format(" and {} more", grouped_number(size - 1)) : "";
    lines.push_back(fmt::format("{}{}: {}", first->name, more, first->refused));
  }
  if (left > 0)
    lines.push_back(
        fmt::format("and {} that did not run to their end; plan --json has the reason of each",
                    counted(left, "more combination")));
  return lines;
}

std::vector<std::string> story_lines(const PlanView& view) {
  if (!view.choice.has_recommendation()) return {};
  std::vector<std::string> lines = plan_reasons(view);
  for (std::string& line : sensitivity_lines(view)) lines.push_back(std::move(line));
  return lines;
}

std::vector<std::string> sensitivity_lines(const PlanView& view) {
  const std::string& own = view.results[view.choice.recommended()].name;
  std::vector<std::string> lines;
  for (const PlanSensitivity& other : view.sensitivity)
    lines.push_back(fmt::format("{}: {}", other.words,
                                other.recommended.empty()  ? "not run yet"
                                : other.recommended == own ? "the same"
                                                           : other.recommended));
  return lines;
}

namespace {

constexpr std::size_t kMostValuesNamed = 3;

// "at most 1,204 of 4,817 in use, 310.2 on average (attention 300.1, ...); ...".
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

class Reasons {
 public:
  explicit Reasons(const PlanView& view)
      : in_(view),
        best_(view.results[view.choice.recommended()]),
        best_case_(view.sweep.called(best_.name).value()) {}

  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for (const GoalLoss& loss : in_.choice.losses) lines.push_back(goal_line(loss));
    add_equal_line(lines);
    for (std::size_t axis = 0; axis < in_.sweep.axes().size(); ++axis) add_axis(axis, lines);
    lines.push_back("waiting: " + waiting_words(in_.header, best_.figures));
    lines.push_back(pool_line());
    add_block_line(lines);
    return lines;
  }

 private:
  const PlanResult* result_called(const std::string& name) const {
    const auto found = std::ranges::find(in_.results, name, &PlanResult::name);
    return found == in_.results.end() ? nullptr : &*found;
  }

  // Other results that are near equal in every goal.
  void add_equal_line(std::vector<std::string>& lines) const {
    std::vector<std::string> names;
    for (const PlanResult& result : in_.results)
      if (result.ran() && &result != &best_ && near_equal(best_.figures, result.figures, in_.goals))
        names.push_back(result.name);
    if (names.empty()) return;
    lines.push_back(
        fmt::format("within 2 % in every goal: {}; of equal ones the one with the fewest changes "
                    "from the defaults, then the fewest steps, is recommended",
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
    if (near_equal(goal.value(best.figures), goal.value(best_.figures)))
      return mine + ", which none beats by more than 2 %";
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
      else if (near_equal(best_.figures, result->figures, in_.goals))
        lines.push_back(fmt::format("{}: equal in the goals; {}", choice, differences));
      else
        lines.push_back(fmt::format("{}: {}", choice, differences));
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
    const std::string& model = in_.header.model;
    if (model.empty()) return;
    const auto settings = in_.sweep.settings(best_case_, model);
    if (!settings.ok()) return;
    const auto setup = make_engine_setup(model, settings.value());
    if (setup.ok()) lines.push_back(why_block_size(setup.value().layout));
  }

  const PlanView& in_;
  const PlanResult& best_;
  PlanCase best_case_;
};

}  // namespace

std::vector<std::string> plan_reasons(const PlanView& view) { return Reasons(view).lines(); }

}  // namespace hybridscope
