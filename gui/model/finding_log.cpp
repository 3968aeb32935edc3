#include "gui/model/finding_log.h"

#include <algorithm>

#include "core/base/ids.h"
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

namespace {

// Rules after which the block's content is unknown, whichever row wrote it.
bool spoils(Rule rule) {
  return rule == Rule::foreign_write || rule == Rule::copy_out_of_range ||
         rule == Rule::conflicting_copies;
}

std::int32_t last_step(const BlockWrites& writes) {
  std::int32_t last = 0;
  for (const WriteEvent* event : {&writes.temporal, &writes.conv, &writes.attention})
    if (event->kind != WriteKind::never) last = std::max(last, event->step);
  return last;
}

bool holds(const BlockFault& fault, const BlockWrites& writes) {
  if (fault.cause.kind != WriteKind::never) return writes.of(fault.content) == fault.cause;
  const std::int32_t last = last_step(writes);
  return last > 0 && last <= fault.step;
}

}  // namespace

const WriteEvent& BlockWrites::of(ContentKind content) const {
  if (content == ContentKind::conv) return conv;
  return content == ContentKind::attention ? attention : temporal;
}

void BlockFaults::take(const Finding& finding) {
  const bool is_start =
      finding.content == ContentKind::temporal && finding.row >= 0 &&
      (finding.rule == Rule::running_state_wrong || finding.rule == Rule::read_of_unwritten_block);
  if (is_start && starts_.size() < kMostStarts)
    starts_.emplace(Start{finding.step, finding.request, finding.group}, finding.rule);
  const bool says = finding.cause.kind != WriteKind::never || spoils(finding.rule);
  if (!says || finding.block <= kNullBlock) return;
  taken_.resize(rule_table().size());
  if (++taken_[static_cast<std::size_t>(finding.rule)] > kMostARule) return;
  faults_[finding.block].push_back({.step = finding.step,
                                    .rule = finding.rule,
                                    .content = finding.content,
                                    .cause = finding.cause});
}

void BlockFaults::forget_after(std::int64_t step) {
  std::erase_if(starts_, [&](const auto& start) { return std::get<0>(start.first) > step; });
  std::ranges::fill(taken_, 0);
  for (auto at = faults_.begin(); at != faults_.end();) {
    std::erase_if(at->second, [&](const BlockFault& fault) { return fault.step > step; });
    for (const BlockFault& fault : at->second) ++taken_[static_cast<std::size_t>(fault.rule)];
    at = at->second.empty() ? faults_.erase(at) : std::next(at);
  }
}

std::optional<Rule> BlockFaults::wrong_start(std::int64_t step, RequestId request,
                                             std::int32_t group) const {
  const auto found = starts_.find({step, request, group});
  return found == starts_.end() ? std::nullopt : std::optional(found->second);
}

const BlockFault* BlockFaults::find(std::int32_t block, const BlockWrites& writes,
                                    std::int64_t step) const {
  const auto found = faults_.find(block);
  if (found == faults_.end()) return nullptr;
  for (auto fault = found->second.rbegin(); fault != found->second.rend(); ++fault)
    if (fault->step <= step && holds(*fault, writes)) return &*fault;
  return nullptr;
}

}  // namespace hybridscope
