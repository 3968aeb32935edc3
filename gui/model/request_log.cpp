#include "gui/model/request_log.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "sessions/cache_report/group_retention.h"

namespace hybridscope {

bool take_counts(RequestCounts& counts, const StepTrace& trace, RequestId request) {
  bool has_part = false;
  for (const ScheduledTrace& scheduled : trace.scheduled) {
    if (scheduled.request != request) continue;
    has_part = true;
    counts = {.num_prompt_tokens = scheduled.num_prompt_tokens,
              .num_computed_tokens = scheduled.num_computed_tokens + scheduled.num_scheduled_tokens,
              .num_generated = std::max(scheduled.num_tokens - scheduled.num_prompt_tokens, 0),
              .num_preemptions = scheduled.run};
  }
  for (const CommitTrace& commit : trace.committed) {
    if (commit.request != request || commit.outcome == CommitOutcome::left_the_engine) continue;
    has_part = true;
    counts.num_computed_tokens = commit.num_computed_tokens;
    if (counts.num_prompt_tokens >= 0)
      counts.num_generated = std::max(commit.num_tokens - counts.num_prompt_tokens, 0);
  }
  for (const RequestId preempted : trace.preempted) {
    if (preempted != request) continue;
    has_part = true;
    counts.num_computed_tokens = 0;
    if (counts.num_preemptions >= 0) ++counts.num_preemptions;
  }
  return has_part;
}

void RequestLog::take_lives(const StepTrace& trace) {
  for (const CommandTrace& command : trace.commands) {
    if (command.outcome != CommandOutcome::done) continue;
    if (command.command == CommandKind::add_request)
      lives_.try_emplace(command.request, Life{.first_step = trace.step,
                                               .admissions = {},
                                               .chunks = {},
                                               .counts = {},
                                               .stretches = {}});
    const auto aborted =
        command.command == CommandKind::abort ? lives_.find(command.request) : lives_.end();
    if (aborted == lives_.end()) continue;
    aborted->second.ended_in = trace.step;
    aborted->second.aborted = true;
  }
  for (const ScheduledTrace& scheduled : trace.scheduled) {
    if (scheduled.admission == Admission::running) continue;
    CachedPrompt prompt{.num_prompt_tokens = scheduled.num_prompt_tokens};
    for (const AdmissionLookup& lookup : trace.lookups)
      if (lookup.request == scheduled.request) prompt.shared_prefix_boundary = junction_of(lookup);
    lives_[scheduled.request].admissions.push_back({trace.step, scheduled.num_hit_tokens, prompt});
  }
  for (const CommitTrace& commit : trace.committed)
    if (commit.finished) lives_[commit.request].ended_in = trace.step;
}

void RequestLog::take(const StepTrace& trace) {
  take_lives(trace);
  for (std::size_t r = 0; r < trace.rows.size(); ++r) {
    const RowTrace& row = trace.rows[r];
    Life& life = lives_[row.request];
    life.counts.push_back(own_count_left(trace, r));
    if (const auto chunk = prefill_chunk(trace, row)) life.chunks.push_back({trace.step, *chunk});
  }
  note_counts(trace);
}

void RequestLog::note_counts(const StepTrace& trace) {
  std::set<RequestId> named(trace.preempted.begin(), trace.preempted.end());
  for (const ScheduledTrace& scheduled : trace.scheduled) named.insert(scheduled.request);
  for (const CommitTrace& commit : trace.committed) named.insert(commit.request);
  for (const RequestId request : named) {
    const auto life = lives_.find(request);
    if (life == lives_.end()) continue;
    auto& stretches = life->second.stretches;
    RequestCounts counts = stretches.empty() ? RequestCounts() : stretches.back().counts;
    if (!take_counts(counts, trace, request)) continue;
    const bool scheduled = std::ranges::find(trace.scheduled, request, &ScheduledTrace::request) !=
                           trace.scheduled.end();
    if (stretches.empty() || !scheduled || !stretches.back().scheduled ||
        stretches.back().last_step + 1 < trace.step)
      stretches.push_back({.first_step = trace.step, .scheduled = scheduled});
    stretches.back().last_step = trace.step;
    stretches.back().counts = counts;
  }
}

RequestCounts RequestLog::counts(RequestId request, std::int64_t step) const {
  const auto life = lives_.find(request);
  RequestCounts counts;
  if (life == lives_.end()) return counts;
  for (const Stretch& stretch : life->second.stretches)
    if (stretch.last_step <= step) counts = stretch.counts;
  return counts;
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
    auto& stretches = life->second.stretches;
    std::erase_if(stretches, [&](const Stretch& stretch) { return stretch.first_step > step; });
    if (!stretches.empty()) stretches.back().last_step = std::min(stretches.back().last_step, step);
    std::erase_if(life->second.chunks, [&](const RanInStep& ran) { return ran.step > step; });
    std::erase_if(life->second.counts, [&](const OwnCount& count) { return count.step > step; });
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

std::optional<OwnCount> RequestLog::own_count(RequestId request, std::int64_t step) const {
  const auto life = lives_.find(request);
  if (life == lives_.end()) return std::nullopt;
  const auto& counts = life->second.counts;
  const auto behind = std::ranges::lower_bound(counts, step, {}, &OwnCount::step);
  return behind == counts.begin() ? std::nullopt : std::optional(*std::prev(behind));
}

std::optional<RanChunk> RequestLog::chunk(RequestId request, std::int64_t step) const {
  const auto life = lives_.find(request);
  if (life == lives_.end()) return std::nullopt;
  const auto& chunks = life->second.chunks;
  const auto ran = std::ranges::lower_bound(chunks, step, {}, &RanInStep::step);
  if (ran == chunks.end() || ran->step != step) return std::nullopt;
  return ran->chunk;
}

}  // namespace hybridscope
