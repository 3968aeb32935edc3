#include "gui/model/request_log.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace hybridscope {

void RequestLog::take(const StepTrace& trace) {
  using Kind = RequestChange::Kind;
  const auto take = [&](Kind kind, RequestId request) {
    this->take(RequestChange{.kind = kind, .request = request, .step = trace.step});
  };
  for (const CommandTrace& command : trace.commands) {
    if (command.outcome != CommandOutcome::done) continue;
    if (command.command == CommandKind::add_request) take(Kind::arrives, command.request);
    if (command.command == CommandKind::abort) take(Kind::is_aborted, command.request);
  }
  for (const RequestId request : trace.preempted) take(Kind::is_preempted, request);
  for (const ScheduledTrace& scheduled : trace.scheduled) {
    if (scheduled.admission == Admission::running) continue;
    RequestChange change{.kind = Kind::is_admitted,
                         .request = scheduled.request,
                         .step = trace.step,
                         .num_hit_tokens = scheduled.num_hit_tokens,
                         .num_prompt_tokens = scheduled.num_prompt_tokens};
    for (const AdmissionLookup& lookup : trace.lookups)
      if (lookup.request == scheduled.request)
        change.longest_hit_length = lookup.explanation.longest_hit_length;
    this->take(change);
  }
  for (const CommitTrace& commit : trace.committed)
    if (commit.finished) take(Kind::finishes, commit.request);
}

void RequestLog::take(const RequestChange& change) {
  Life& life = lives_[change.request];
  switch (change.kind) {
    case RequestChange::Kind::arrives:
      if (life.first_step == 0) life.first_step = change.step;
      break;
    case RequestChange::Kind::is_admitted: {
      // junction_of: a longer prefix than the hit is shared.
      const bool shares_more = change.longest_hit_length > change.num_hit_tokens;
      life.admissions.push_back(
          {change.step, change.num_hit_tokens,
           CachedPrompt{.num_prompt_tokens = change.num_prompt_tokens,
                        .shared_prefix_boundary = shares_more ? change.longest_hit_length : 0}});
      break;
    }
    case RequestChange::Kind::is_preempted: life.preemptions.push_back(change.step); break;
    case RequestChange::Kind::is_aborted: life.aborted = true; [[fallthrough]];
    case RequestChange::Kind::finishes: life.ended_in = change.step; break;
  }
}

std::int64_t RequestLog::preempted_in(RequestId request, std::int64_t step) const {
  const auto life = lives_.find(request);
  if (life == lives_.end()) return 0;
  const auto& steps = life->second.preemptions;
  const auto behind = std::ranges::upper_bound(steps, step);
  return behind == steps.begin() ? 0 : *std::prev(behind);
}

void RequestLog::forget_after(std::int64_t step) {
  for (auto life = lives_.begin(); life != lives_.end();) {
    if (life->second.first_step > step) {
      life = lives_.erase(life);
      continue;
    }
    if (life->second.ended_in > step) {
      life->second.ended_in = 0;
      life->second.aborted = false;
    }
    std::erase_if(life->second.admissions,
                  [&](const Admitted& admitted) { return admitted.step > step; });
    std::erase_if(life->second.preemptions, [&](std::int64_t number) { return number > step; });
    ++life;
  }
}

std::vector<RequestId> RequestLog::unfinished(std::int64_t step) const {
  std::vector<RequestId> requests;
  for (const auto& [request, life] : lives_)
    if (life.first_step > 0 && life.first_step <= step &&
        (life.ended_in == 0 || life.ended_in > step || (life.ended_in == step && !life.aborted)))
      requests.push_back(request);
  return requests;
}

std::int64_t RequestLog::first_step(RequestId request) const {
  const auto life = lives_.find(request);
  return life == lives_.end() ? 0 : life->second.first_step;
}

const RequestLog::Admitted* RequestLog::admitted(RequestId request, std::int64_t step) const {
  const auto life = lives_.find(request);
  if (life == lives_.end()) return nullptr;
  const auto& admissions = life->second.admissions;
  const auto behind = std::ranges::upper_bound(admissions, step, {}, &Admitted::step);
  return behind == admissions.begin() ? nullptr : &*std::prev(behind);
}

namespace {

ActivityKind kind_of(RowClass row_class) {
  switch (row_class) {
    case RowClass::decode: return ActivityKind::decode;
    case RowClass::verify: return ActivityKind::verify;
    default: return ActivityKind::prefill;
  }
}

// Reasons shared by running and waiting requests count as waiting here; the timeline refines them.
ActivityKind kind_of(SkipReason reason) {
  switch (reason) {
    case SkipReason::ends_in_flight: return ActivityKind::in_flight;
    case SkipReason::max_model_len: return ActivityKind::held_back;
    default: return ActivityKind::waiting;
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

bool stores_checkpoints(const KVCacheConfig& config) {
  return std::ranges::any_of(config.groups, [](const KVCacheGroup& group) {
    const auto* mamba = std::get_if<MambaSpec>(&group.spec);
    return mamba != nullptr && mamba->num_prefill_checkpoint_blocks > 0;
  });
}

std::optional<RanChunk> prefill_chunk(const StepTrace& trace, const RowTrace& row) {
  if (row.row_class != RowClass::prefill || row.scheduled < 0) return std::nullopt;
  const std::int32_t start = row.num_computed_tokens;
  return RanChunk{start, start + trace.scheduled_of(row).num_scheduled_tokens};
}

}  // namespace hybridscope
