#include "gui/model/cache_log.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/check.h"
#include "sessions/cache_report/changed_plan.h"
#include "sessions/cache_report/stored_states.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"

namespace hybridscope {

std::optional<CachedPrompt> find_cached_prompt(const StepTrace& trace, RequestId request) {
  const auto admitted = std::ranges::find_if(trace.scheduled, [&](const ScheduledTrace& scheduled) {
    return scheduled.request == request && scheduled.admission != Admission::running;
  });
  if (admitted == trace.scheduled.end()) return std::nullopt;
  CachedPrompt prompt{.num_prompt_tokens = admitted->num_prompt_tokens};
  for (const AdmissionLookup& lookup : trace.lookups)
    if (lookup.request == request) prompt.shared_prefix_boundary = junction_of(lookup);
  return prompt;
}

void RequestLog::take(const StepTrace& trace) {
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
  for (const ScheduledTrace& scheduled : trace.scheduled)
    if (scheduled.admission != Admission::running)
      lives_[scheduled.request].admissions.push_back(
          {trace.step, scheduled.num_hit_tokens,
           find_cached_prompt(trace, scheduled.request).value_or(CachedPrompt())});
  for (std::size_t r = 0; r < trace.rows.size(); ++r) {
    const RowTrace& row = trace.rows[r];
    Life& life = lives_[row.request];
    life.counts.push_back(own_count_left(trace, r));
    if (const auto chunk = prefill_chunk(trace, row)) life.chunks.push_back({trace.step, *chunk});
  }
  for (const CommitTrace& commit : trace.committed)
    if (commit.finished) lives_[commit.request].ended_in = trace.step;
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
    if (stretches.empty() || stretches.back().last_step + 1 < trace.step)
      stretches.push_back({.first_step = trace.step, .last_step = trace.step, .counts = counts});
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

std::optional<CachedPrompt> RequestLog::cached_prompt(RequestId request, std::int64_t step) const {
  const auto life = lives_.find(request);
  std::optional<CachedPrompt> prompt;
  if (life == lives_.end()) return prompt;
  for (const Admitted& admitted : life->second.admissions)
    if (admitted.step <= step) prompt = admitted.prompt;
  return prompt;
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

// An edit may replace the plan, so requests are looked up on demand.
CacheReport CacheLog::empty_report(const EngineConfig& config) const {
  return CacheReport(config, [this](RequestId id) -> const AddRequest& {
    const std::ptrdiff_t index = find_planned(plan_, names_.request(id));
    HS_EXPECT(index >= 0);
    return plan_.requests[static_cast<std::size_t>(index)].request;
  });
}

void CacheLog::take(const StepTrace& trace) {
  if (outdated_) return;
  if (!report_) report_.emplace(empty_report(plan_.setup.config));
  report_->add(trace);
  last_step_ = trace.step;
}

void CacheLog::forget_after(std::int64_t step) { outdated_ = outdated_ || last_step_ > step; }

// Forgotten steps cannot be removed from a report, so it is made again by a quick run without
// checks.
void CacheLog::make_again(std::int64_t last_step) {
  auto run = CheckedRun::create(plan_, {.check = std::nullopt});
  if (!run.ok()) return;
  CacheReport again = empty_report(plan_.setup.config);
  std::int64_t made = 0;
  const auto driven = drive(
      run.value(),
      [&](const CheckedStep& step) {
        again.add(step.trace);
        made = step.trace.step;
      },
      [&] { return made >= last_step; });
  if (!driven.ok()) return;
  report_ = std::move(again);
  last_step_ = made;
  outdated_ = false;
}

const CacheReport* CacheLog::report(std::int64_t last_known_step) {
  if (outdated_ && last_known_step <= kMostStepsAgain) make_again(last_known_step);
  return report_ && !outdated_ ? &*report_ : nullptr;
}

}  // namespace hybridscope
