#include "cli/plan_story.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

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
                       std::ranges::all_of(goals_, [&](const PlanGoal* goal) {
                         return goal->value(there->second.figures) == goal->value(best.figures);
                       });
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

std::string PlanStory::text(std::int64_t most_rows) const {
  return fmt::format("{}\n{}{}", format_plan_heading(view()), format_plan_table(view(), most_rows),
                     format_plan_reasons(view()));
}

}  // namespace hybridscope
