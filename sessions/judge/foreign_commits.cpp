// A frame returns to the scheduler: at once, or asynchronously when the next one was scheduled
// (semantics: update-from-output-async, preempted-in-flight, reset-in-flight).
#include <algorithm>

#include "sessions/judge/foreign_importer.h"

namespace hybridscope {
namespace {

bool goes_on_running(const ForeignStep& step, RequestId request) {
  return std::ranges::any_of(step.scheduled_cached_reqs, [&](const ForeignCachedRequest& told) {
    return told.request == request && !told.resumed;
  });
}

}  // namespace

// Who lost its blocks before this step was scheduled, or in it. A reset drops what the frame in
// flight will bring; a preemption does not.
void ForeignImporter::leave_runs(const ForeignStep& step) {
  if (step.reset_prefix_cache)
    for (const ForeignFrame::Row& row : in_flight_.rows)
      if (requests_.holds(row.request) && requests_[row.request].runs &&
          !goes_on_running(step, row.request))
        requests_[row.request].forget_frames_in_flight();
  for (const RequestId id : step.preempted_req_ids) {
    slots_.free(id);
    if (requests_.holds(id)) leave_run(id);
  }
}

// What the step sampled. The rows of the next frame go on from it, whatever the scheduler knows.
void ForeignImporter::take_output(const ForeignStep& step) {
  sampled_.step = step.step;
  sampled_.rows.clear();
  for (const ScheduledTrace& scheduled : trace_.scheduled) {
    ForeignRequest& request = requests_[scheduled.request];
    const std::span<const std::int32_t> sampled = sampled_by(step, scheduled.request);
    sampled_.rows.push_back({scheduled.request, scheduled.run, scheduled.num_draft_tokens,
                             static_cast<std::int32_t>(sampled.size())});
    request.append(sampled);
    request.scheduled = -1;
    request.sampled = {};
  }
}

// What the engine made of it shows in its next line.
void ForeignImporter::commit(const ForeignFrame& frame) {
  trace_.committed_step = frame.step;
  for (const ForeignFrame::Row& row : frame.rows) trace_.committed.push_back(commit_row(row));
  trace_.num_unfinished = requests_.num_live();
}

CommitTrace ForeignImporter::commit_row(const ForeignFrame::Row& row) {
  CommitTrace commit{.request = row.request, .outcome = CommitOutcome::left_the_engine};
  if (!requests_.holds(row.request)) return commit;
  ForeignRequest& request = requests_[row.request];
  if (row.run < request.first_valid_run) {
    commit.outcome = CommitOutcome::stale_run;
  } else {
    commit.outcome = take_row(request, row);
    commit.num_appended_tokens = row.num_sampled_tokens;
  }
  commit.num_computed_tokens = request.num_computed_tokens;
  commit.num_tokens = request.num_known_tokens;
  commit.num_output_placeholders = request.num_output_placeholders;
  return commit;
}

CommitOutcome ForeignImporter::take_row(ForeignRequest& request, const ForeignFrame::Row& row) {
  const std::int32_t sampled = row.num_sampled_tokens;
  const bool runs = request.runs && row.run == request.run;
  if (sampled == 0) return runs ? CommitOutcome::chunk : CommitOutcome::preempted;
  const std::int32_t rejected = row.num_draft_tokens - (sampled - 1);
  if (runs) request.num_computed_tokens -= rejected;
  request.confirm(sampled);
  if (config_.async_scheduling) {
    request.num_output_placeholders -= rejected + sampled;
    if (runs)
      tables_.register_computed_blocks(
          row.request, request.num_computed_tokens - request.num_output_placeholders, requests_,
          trace_);
  }
  return runs ? CommitOutcome::taken : CommitOutcome::preempted;
}

}  // namespace hybridscope
