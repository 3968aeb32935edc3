// The known bug, or the policy, that a finding comes from.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "gui/model/finding_chains.h"
#include "gui/model/workbench.h"
#include "sessions/known_bugs/finding_cause.h"

namespace hybridscope {
namespace {

// The sentence about a cause; empty: none was found.
std::string cause_sentence(const FindingCause& cause) {
  std::string words = CauseWords{.cause = cause.words, .not_known = cause.not_searched}.sentence();
  if (!cause.bugs.empty())
    words += fmt::format("; bug.open {} shows it beside its healthy run",
                         cause.bugs.front().front()->id);
  return words;
}

}  // namespace

Result<std::size_t> Workbench::find_cause_of(std::size_t finding) {
  const RunPlan* plan = run()->plan();
  if (plan == nullptr) return invalid_input(run()->why_no_plan());
  const std::ptrdiff_t root = run()->finding_log().chains()[finding].first;
  const std::size_t first = root < 0 ? finding : static_cast<std::size_t>(root);
  const ShownFinding& shown = run()->findings()[first];
  causes_[{drawn_side(), shown.text}] =
      cause_sentence(find_cause(*plan, shown.finding, {.scope = run()->header().check}));
  touch();
  return first;
}

std::string_view Workbench::cause_of(const ShownFinding& finding) const {
  const auto found = causes_.find({drawn_side(), finding.text});
  return found == causes_.end() ? std::string_view() : found->second;
}

// Searches the cause of the left run's first finding, which begins a chain, once the run stands
// still.
void Workbench::search_first_cause() {
  if (run_ == nullptr || run_->plan() == nullptr || is_moving() || cause_job_.is_busy()) return;
  const auto first = std::ranges::find_if(run_->findings(), [](const ShownFinding& shown) {
    return rule_info(shown.finding.rule).severity == Severity::error;
  });
  if (first == run_->findings().end() || first->text == searched_for_ ||
      causes_.contains({CompareSide::left, first->text}))
    return;
  searched_for_ = first->text;
  cause_job_.begin(*run_->plan(), *first, run_->header().check);
}

void Workbench::take_first_cause() {
  const auto found = cause_job_.take();
  // Without a result a click searches longer.
  if (!found || !found->cause.is_known()) return;
  causes_[{CompareSide::left, found->finding}] = cause_sentence(found->cause);
  touch();
}

void Workbench::forget_causes() {
  causes_.clear();
  searched_for_.clear();
  cause_job_.drop();
}

}  // namespace hybridscope
