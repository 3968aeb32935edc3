#include "sessions/plan/plan_story.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "sessions/plan/plan_reasons.h"
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
                       look_alike(there->second.figures, best.figures, goals_);
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
  std::vector<std::string> lines = plan_reasons({.sweep = view.sweep,
                                                 .results = view.results,
                                                 .goals = view.goals,
                                                 .choice = view.choice,
                                                 .model = view.header.model});
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

}  // namespace hybridscope
