#include "gui/model/finding_log.h"

#include <algorithm>
#include <utility>

#include "sessions/explain/explain_finding.h"
#include "sessions/run/finding_list.h"

namespace hybridscope {

FindingLog::FindingLog() : num_found_(rule_table().size(), 0) {}

FindingLog::Place FindingLog::follow(const Finding& finding) {
  const std::size_t number = ++num_found_[static_cast<std::size_t>(finding.rule)];
  Place place{.is_listed = number <= static_cast<std::size_t>(kMaxFindingsARule)};
  if (rule_info(finding.rule).severity != Severity::error) return place;
  const std::size_t num_roots = roots_.roots().size();
  place.root = roots_.add(finding);
  place.is_root = place.root == num_roots;
  // The first beginnings of chains are listed beyond the others of their rule.
  place.is_listed = place.is_listed || (place.is_root && num_roots < kMaxRootsShown);
  return place;
}

void FindingLog::take(const Finding& finding, const Names& names) {
  std::size_t& found = num_found_[static_cast<std::size_t>(finding.rule)];
  if (found >= kMostARule) {
    found = kMostARule + 1;
    return;
  }
  followed_.push_back(finding);
  const Place place = follow(finding);
  if (!place.is_listed) return;
  listed_.push_back({finding, explain_finding(finding, names)});
  places_.push_back(place);
}

// The findings up to the step are followed again, which lists the same ones.
void FindingLog::forget_after(std::int64_t step) {
  std::erase_if(followed_, [step](const Finding& finding) { return finding.step > step; });
  std::erase_if(listed_, [step](const ShownFinding& shown) { return shown.finding.step > step; });
  places_.resize(listed_.size());
  roots_ = {};
  std::ranges::fill(num_found_, 0);
  for (const Finding& finding : followed_) (void)follow(finding);
}

std::vector<FindingChain> FindingLog::chains() const {
  const bool at_least =
      std::ranges::any_of(num_found_, [](std::size_t found) { return found > kMostARule; });
  std::vector<FindingChain> of_roots;
  for (const FindingRoot& root : roots_.roots())
    of_roots.push_back({.first_step = root.finding.step,
                        .num_following = root.num_following,
                        .at_least = at_least});
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (places_[i].root == kNoRoot) continue;
    FindingChain& chain = of_roots[places_[i].root];
    if (places_[i].is_root)
      chain.first = static_cast<std::ptrdiff_t>(i);
    else
      ++chain.num_listed;
  }
  std::vector<FindingChain> chains;
  for (const Place& place : places_)
    chains.push_back(place.root == kNoRoot ? FindingChain{} : of_roots[place.root]);
  return chains;
}

}  // namespace hybridscope
