#include "sessions/cache_report/progress_watch.h"

#include <algorithm>

namespace hybridscope {
namespace {

constexpr std::int64_t kFruitlessRounds = 4;

bool told_to(const StepTrace& trace, CommandKind kind) {
  return std::any_of(trace.commands.begin(), trace.commands.end(),
                     [kind](const CommandTrace& command) { return command.command == kind; });
}

// Is there a reason why a step schedules nothing?
bool excused(const StepTrace& trace) {
  const bool told = std::any_of(
      trace.commands.begin(), trace.commands.end(),
      [](const CommandTrace& command) { return command.command != CommandKind::add_request; });
  return told || trace.budget_overridden || trace.num_pending_commands > 0 ||
         !trace.preempted.empty() || !trace.committed.empty();
}

}  // namespace

bool ProgressWatch::goes_on(const StepTrace& trace) {
  for (const CommitTrace& commit : trace.committed) {
    if (commit.outcome != CommitOutcome::taken && commit.outcome != CommitOutcome::chunk) continue;
    const auto request = static_cast<std::size_t>(commit.request.value);
    if (request >= most_computed_.size()) most_computed_.resize(request + 1);
    const std::int32_t confirmed = commit.num_computed_tokens - commit.num_output_placeholders;
    if (confirmed <= most_computed_[request]) continue;
    most_computed_[request] = confirmed;
    tokens_without_progress_ = 0;
  }
  if (told_to(trace, CommandKind::reset_prefix_cache) || told_to(trace, CommandKind::preempt))
    tokens_without_progress_ = 0;
  if (trace.num_unfinished == 0) return true;
  if (trace.num_scheduled_tokens == 0) return excused(trace);
  std::int64_t tokens = 0;
  for (const ScheduledTrace& scheduled : trace.scheduled) tokens += scheduled.num_tokens;
  unfinished_tokens_ = std::max(unfinished_tokens_, tokens);
  tokens_without_progress_ += trace.num_scheduled_tokens;
  return tokens_without_progress_ <= kFruitlessRounds * (unfinished_tokens_ + 64);
}

}  // namespace hybridscope
