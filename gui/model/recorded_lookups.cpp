// What other steps of a session tell, read beside the shown one a few at a time.
#include <algorithm>
#include <utility>

#include "gui/model/finding_chains.h"
#include "gui/model/recorded_run.h"

namespace hybridscope {

bool RecordedRun::load_more() {
  hit_reads_left_ = kStepsASlice;
  const bool lacks_hits = std::exchange(lacks_hits_, false);
  const bool lacks_activities = std::exchange(lacks_activities_, false);
  return decide_next() || lacks_activities || lacks_hits;
}

std::int32_t RecordedRun::num_hit_tokens(RequestId request) {
  if (level() == RecordLevel::counts) return -1;
  const auto may_read = [this] {
    if (hit_reads_left_ > 0) return --hit_reads_left_ >= 0;
    lacks_hits_ = true;
    return false;
  };
  auto found = hits_.find(request);
  if (found == hits_.end()) {
    if (!may_read()) return -1;
    auto steps = reader().admissions(request);
    found = hits_.emplace(request, Admissions()).first;
    if (steps.ok()) found->second.steps = std::move(steps).value();
  }
  Admissions& admissions = found->second;
  const auto behind = std::ranges::upper_bound(admissions.steps, step());
  if (behind == admissions.steps.begin()) return -1;
  const std::int64_t admitted = *std::prev(behind);
  if (const auto known = admissions.hit_tokens.find(admitted); known != admissions.hit_tokens.end())
    return known->second;
  if (!may_read()) return -1;
  const StepRecord* record = schedule_beside(admitted);
  std::int32_t hit = -1;
  if (record != nullptr)
    for (const ScheduledTrace& scheduled : record->trace.scheduled)
      if (scheduled.request == request) hit = scheduled.num_hit_tokens;
  return admissions.hit_tokens[admitted] = hit;
}

// After more findings were loaded: those of a chain's beginning whose decision is not known.
void RecordedRun::list_undecided() {
  undecided_.clear();
  const std::vector<FindingChain> chains = finding_chains(*this);
  for (std::size_t i = 0; i < chains.size() && num_decided_ + undecided_.size() < kMostDecisions;
       ++i)
    if (is_first_of(chains[i], i) && findings_[i].decision.empty()) undecided_.push_back(i);
  std::ranges::reverse(undecided_);  // the last one is taken first
}

// False: all are known.
bool RecordedRun::decide_next() {
  if (undecided_.empty()) return false;
  ShownFinding& shown = findings_[undecided_.back()];
  undecided_.pop_back();
  ++num_decided_;
  if (beside() == nullptr) return false;
  const auto record = beside()->read(shown.finding.step);
  if (!record.ok()) return false;
  shown.decision =
      decision_behind(shown.finding,
                      {.trace = record.value()->trace,
                       .names = names_,
                       .own = reader().own_count(shown.finding.request, shown.finding.step)},
                      findings_);
  return true;
}

}  // namespace hybridscope
