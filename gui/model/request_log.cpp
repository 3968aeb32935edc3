#include "gui/model/request_log.h"

#include <algorithm>
#include <iterator>

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
    case RequestChange::Kind::is_preempted:
      life.preemptions.push_back(change.step);
      break;
    case RequestChange::Kind::is_aborted:
      life.aborted = true;
      [[fallthrough]];
    case RequestChange::Kind::finishes:
      life.ended_in = change.step;
      break;
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

}  // namespace hybridscope
