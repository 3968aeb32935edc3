#include "gui/model/request_log.h"

namespace hybridscope {

void RequestLog::take(const StepTrace& trace) {
  for (const CommandTrace& command : trace.commands) {
    if (command.outcome != CommandOutcome::done) continue;
    if (command.command == CommandKind::add_request)
      lives_.try_emplace(command.request, Life{.first_step = trace.step, .admissions = {}});
    const auto aborted =
        command.command == CommandKind::abort ? lives_.find(command.request) : lives_.end();
    if (aborted == lives_.end()) continue;
    aborted->second.ended_in = trace.step;
    aborted->second.aborted = true;
  }
  for (const ScheduledTrace& scheduled : trace.scheduled)
    if (scheduled.admission != Admission::running)
      lives_[scheduled.request].admissions.push_back({trace.step, scheduled.num_hit_tokens});
  for (const CommitTrace& commit : trace.committed)
    if (commit.finished) lives_[commit.request].ended_in = trace.step;
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
    ++life;
  }
}

std::vector<RequestId> RequestLog::unfinished(std::int64_t step) const {
  std::vector<RequestId> requests;
  for (const auto& [request, life] : lives_)
    if (life.first_step <= step &&
        (life.ended_in == 0 || life.ended_in > step || (life.ended_in == step && !life.aborted)))
      requests.push_back(request);
  return requests;
}

std::int64_t RequestLog::first_step(RequestId request) const {
  const auto life = lives_.find(request);
  return life == lives_.end() ? 0 : life->second.first_step;
}

std::int32_t RequestLog::num_hit_tokens(RequestId request, std::int64_t step) const {
  const auto life = lives_.find(request);
  std::int32_t hit = -1;
  if (life == lives_.end()) return hit;
  for (const Admitted& admitted : life->second.admissions)
    if (admitted.step <= step) hit = admitted.num_hit_tokens;
  return hit;
}

}  // namespace hybridscope
