#include "gui/model/step_activity.h"

#include <algorithm>
#include <map>
#include <utility>

namespace hybridscope {
namespace {

ActivityKind kind_of(RowClass row_class) {
  switch (row_class) {
    case RowClass::decode:
      return ActivityKind::decode;
    case RowClass::verify:
      return ActivityKind::verify;
    default:
      return ActivityKind::prefill;
  }
}

// Reasons shared by running and waiting requests count as waiting here; the timeline refines them.
ActivityKind kind_of(SkipReason reason) {
  switch (reason) {
    case SkipReason::ends_in_flight:
      return ActivityKind::in_flight;
    case SkipReason::max_model_len:
      return ActivityKind::held_back;
    default:
      return ActivityKind::waiting;
  }
}

}  // namespace

StepActivity activity_of(const StepTrace& trace) {
  std::map<RequestId, RequestActivity> by_request;
  const auto of = [&](RequestId request) -> RequestActivity& {
    RequestActivity& activity = by_request[request];
    activity.request = request;
    return activity;
  };
  for (std::size_t i = 0; i < std::min(trace.skipped.size(), kMostWaiting); ++i) {
    RequestActivity& activity = of(trace.skipped[i].request);
    activity.kind = kind_of(trace.skipped[i].reason);
    activity.skipped = trace.skipped[i].reason;
  }
  for (const RequestId request : trace.preempted) of(request).kind = ActivityKind::preempted;
  for (const RowTrace& row : trace.rows) {
    const ScheduledTrace& scheduled = trace.scheduled_of(row);
    RequestActivity& activity = of(row.request);
    activity.kind = kind_of(row.row_class);
    activity.admitted = scheduled.admission != Admission::running;
    activity.resumed = scheduled.admission == Admission::resumed;
    activity.num_tokens = scheduled.num_scheduled_tokens;
    activity.num_draft_tokens = scheduled.num_draft_tokens;
    activity.num_accepted_drafts = std::max(row.num_sampled_tokens - 1, 0);
  }
  for (const CommitTrace& commit : trace.committed) {
    RequestActivity& activity = of(commit.request);
    activity.returned = true;
    activity.num_returned = commit.num_appended_tokens;
    activity.finished = commit.finished;
  }
  StepActivity step{.step = trace.step, .committed_step = trace.committed_step, .known = true};
  for (const auto& [request, activity] : by_request) step.requests.push_back(activity);
  return step;
}

void ActivityLog::take(StepActivity activity) {
  size_ += activity.requests.size();
  steps_.push_back(std::move(activity));
  while (size_ > limit_ && steps_.size() > 1) {
    size_ -= steps_.front().requests.size();
    steps_.pop_front();
    ++dropped_;
  }
}

void ActivityLog::forget_from(std::size_t number) {
  while (!steps_.empty() && dropped_ + steps_.size() > number) {
    size_ -= steps_.back().requests.size();
    steps_.pop_back();
  }
  dropped_ = std::min(dropped_, number);
}

std::size_t ActivityLog::bytes() const {
  return size_ * sizeof(RequestActivity) + steps_.size() * sizeof(StepActivity);
}

const StepActivity* ActivityLog::find(std::size_t number) const {
  if (number < dropped_ || number - dropped_ >= steps_.size()) return nullptr;
  return &steps_[number - dropped_];
}

}  // namespace hybridscope
