#include "storage/request_names.h"

namespace hybridscope {

void RequestNames::see(RequestId request, QueuedStep& step) {
  if (request.value < 0) return;
  const auto id = static_cast<std::size_t>(request.value);
  if (id < known_.size() && known_[id]) return;
  if (id >= known_.size()) known_.resize(id + 1, false);
  known_[id] = true;
  step.new_requests.push_back({.request = request, .name = name_(request)});
}

void RequestNames::find_new(QueuedStep& step) {
  step.new_requests.clear();
  const StepTrace& trace = step.record.trace;
  for (const CommandTrace& command : trace.commands) see(command.request, step);
  for (const ScheduledTrace& scheduled : trace.scheduled) see(scheduled.request, step);
  for (const SkippedRequest& skipped : trace.skipped) see(skipped.request, step);
  for (const AdmissionLookup& lookup : trace.lookups) see(lookup.request, step);
  for (const RequestId request : trace.preempted) see(request, step);
  for (const CommitTrace& commit : trace.committed) see(commit.request, step);
  for (const auto* events : {&trace.cache_events, &trace.commit_events})
    for (const CacheEvent& event : *events) see(event.request, step);
  for (const RowTrace& row : trace.rows) see(row.accepted_from, step);
  for (const StateWrite& write : step.record.writes) see(write.event.request, step);
  for (const Finding& finding : step.record.findings) {
    see(finding.request, step);
    see(finding.cause.request, step);
  }
}

}  // namespace hybridscope
