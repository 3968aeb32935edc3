#include "gui/model/plan_history.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "core/base/check.h"
#include "gui/model/planned_step.h"

namespace hybridscope {
namespace {

void move_last(std::vector<PlanVersion>& from, std::vector<PlanVersion>& to, PlanVersion before) {
  HS_EXPECT(!from.empty());
  before.words = std::move(from.back().words);
  from.pop_back();
  to.push_back(std::move(before));
}

}  // namespace

void PlanHistory::clear() {
  undo_.clear();
  redo_.clear();
}

void PlanHistory::add(PlanVersion before) {
  undo_.push_back(std::move(before));
  if (undo_.size() > kMaxVersions) undo_.erase(undo_.begin());
  redo_.clear();
}

void PlanHistory::undone(PlanVersion before) { move_last(undo_, redo_, std::move(before)); }
void PlanHistory::redone(PlanVersion before) { move_last(redo_, undo_, std::move(before)); }

std::string words_of(const ForkAt& at) {
  std::vector<std::string> words;
  for (const ScenarioRequest& request : at.requests)
    words.push_back(fmt::format("add request {}", request.id));
  for (std::string& change : words_of(at.changes)) words.push_back(std::move(change));
  std::string all =
      words.empty() ? std::string() : fmt::format("{} in step {}", fmt::join(words, "; "), at.step);
  if (at.drop_script)
    all += fmt::format("{}nothing of the script from step {} on", all.empty() ? "" : "; ", at.step);
  return all;
}

}  // namespace hybridscope
