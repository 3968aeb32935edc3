#include "core/check/progress_watch.h"

#include <algorithm>

namespace hybridscope {
namespace {

// Tokens may be computed again after preemptions. A run goes in circles if it computes more than
// this many times all live tokens without any request getting further.
constexpr std::int64_t kFruitlessRounds = 4;

bool has_command(const StepTrace& trace, CommandKind kind) {
  return std::ranges::any_of(
      trace.commands, [kind](const CommandTrace& command) { return command.command == kind; });
}

// Is there a reason why a step schedules nothing?
bool is_excused(const StepTrace& trace) {
  const bool commanded = std::ranges::any_of(trace.commands, [](const CommandTrace& command) {
    return command.command != CommandKind::add_request;
  });
  return commanded || trace.budget_overridden || trace.num_pending_commands > 0 ||
         !trace.preempted.empty() || !trace.committed.empty();
}

}  // namespace

void ProgressWatch::note_commits(const StepTrace& trace) {
  for (const CommitTrace& commit : trace.committed) {
    if (commit.outcome != CommitOutcome::taken && commit.outcome != CommitOutcome::chunk) continue;
    if (commit.request.value < 0) continue;
    const auto request = static_cast<std::size_t>(commit.request.value);
    if (request >= most_computed_.size()) most_computed_.resize(request + 1);
    const std::int32_t confirmed = commit.num_computed_tokens - commit.num_output_placeholders;
    if (confirmed <= most_computed_[request]) continue;
    most_computed_[request] = confirmed;
    tokens_without_progress_ = 0;
  }
}

RunProgress ProgressWatch::take(const StepTrace& trace) {
  note_commits(trace);
  if (has_command(trace, CommandKind::reset_prefix_cache) ||
      has_command(trace, CommandKind::preempt))
    tokens_without_progress_ = 0;
  if (trace.num_unfinished == 0) return RunProgress::moving;
  if (trace.num_scheduled_tokens == 0)
    return is_excused(trace) ? RunProgress::moving : RunProgress::nothing_scheduled;
  std::int64_t tokens = 0;
  for (const ScheduledTrace& scheduled : trace.scheduled) tokens += scheduled.num_tokens;
  unfinished_tokens_ = std::max(unfinished_tokens_, tokens);
  tokens_without_progress_ += trace.num_scheduled_tokens;
  return tokens_without_progress_ > kFruitlessRounds * (unfinished_tokens_ + 64)
             ? RunProgress::in_circles
             : RunProgress::moving;
}

}  // namespace hybridscope
