#include "core/check/check_progress.h"

#include <algorithm>

namespace hybridscope {
namespace {

// Tokens may be computed again after preemptions; more than this many times all live tokens
// without any request getting further is a run that goes in circles.
constexpr std::int64_t kFruitlessRounds = 4;

Finding count_finding(Rule rule, RequestId request, std::int64_t expected, std::int64_t seen,
                      std::string_view detail) {
  Finding finding;
  finding.rule = rule;
  finding.request = request;
  finding.expected = expected;
  finding.seen = seen;
  finding.detail = detail;
  return finding;
}

}  // namespace

ProgressCheck::Known& ProgressCheck::known(RequestId request) {
  if (request.value < 0) return nobody_ = {};
  const auto index = static_cast<std::size_t>(request.value);
  if (index >= known_.size()) known_.resize(index + 1);
  return known_[index];
}

void ProgressCheck::check(CheckContext& context) {
  for (const RequestId request : context.trace().preempted) known(request).num_computed_tokens = -1;
  check_counts(context);
  check_chunks(context);
  check_commits(context);
  watch(context);
}

// c before the step is what the last step left, or the hit of an admission.
void ProgressCheck::check_counts(CheckContext& context) {
  for (const ScheduledTrace& scheduled : context.trace().scheduled) {
    Known& request = known(scheduled.request);
    const bool running = scheduled.admission == Admission::running;
    const std::int32_t expected = running ? request.num_computed_tokens : scheduled.num_hit_tokens;
    if (expected != scheduled.num_computed_tokens && !(running && expected < 0))
      context.report(count_finding(Rule::rejected_draft_counted, scheduled.request, expected,
                                   scheduled.num_computed_tokens,
                                   "computed tokens before the step"));
    if (running && scheduled.num_hit_tokens != 0)
      context.report(count_finding(Rule::metadata_inconsistent, scheduled.request, 0,
                                   scheduled.num_hit_tokens, "hit of a running request"));
    const std::int32_t drafts = std::max(
        scheduled.num_computed_tokens + scheduled.num_scheduled_tokens - scheduled.num_tokens, 0);
    if (scheduled.num_draft_tokens != drafts)
      context.report(count_finding(Rule::metadata_inconsistent, scheduled.request, drafts,
                                   scheduled.num_draft_tokens,
                                   "draft tokens behind the known ones"));
    if (scheduled.num_draft_tokens < scheduled.num_drafts_offered)
      context.report(count_finding(Rule::drafts_cut, scheduled.request,
                                   scheduled.num_drafts_offered, scheduled.num_draft_tokens, ""));
  }
}

void ProgressCheck::check_chunks(CheckContext& context) {
  if (context.config().mamba_cache_mode != MambaCacheMode::align) return;
  std::int32_t block_size = 0;
  for (const GroupTrace& group : context.trace().groups)
    if (group.is_mamba) block_size = group.block_size;
  if (block_size == 0) return;
  for (const ScheduledTrace& scheduled : context.trace().scheduled) {
    const std::int32_t end = scheduled.num_computed_tokens + scheduled.num_scheduled_tokens;
    if (end < scheduled.num_tokens && end % block_size != 0)
      context.report(count_finding(Rule::chunk_off_grid, scheduled.request,
                                   end / block_size * block_size, end, "end of the chunk"));
  }
}

// What one request has after a step in which it sampled `accepted` tokens.
void ProgressCheck::check_commit(CheckContext& context, const ScheduledTrace& scheduled,
                                 const CommitTrace& commit, std::int32_t accepted) {
  if (commit.request != scheduled.request)
    context.report(count_finding(Rule::foreign_row_datum, scheduled.request,
                                 scheduled.request.value, commit.request.value,
                                 "commit of another request"));
  if (accepted > 1 + scheduled.num_draft_tokens)
    context.report(count_finding(Rule::rejected_draft_counted, scheduled.request,
                                 1 + scheduled.num_draft_tokens, accepted,
                                 "more tokens accepted than drafted"));
  // A chunk that does not reach the last known token samples nothing that counts.
  const bool samples =
      scheduled.num_computed_tokens + scheduled.num_scheduled_tokens >= scheduled.num_tokens;
  if (samples != (accepted > 0))
    context.report(count_finding(Rule::metadata_inconsistent, scheduled.request, samples ? 1 : 0,
                                 accepted, "sampled tokens"));
  if (commit.num_appended_tokens > accepted ||
      (commit.num_appended_tokens < accepted && !commit.finished))
    context.report(count_finding(Rule::rejected_draft_counted, commit.request, accepted,
                                 commit.num_appended_tokens, "appended tokens"));
  const std::int32_t rejected = accepted > 0 ? scheduled.num_draft_tokens - (accepted - 1) : 0;
  const std::int32_t expected =
      scheduled.num_computed_tokens + scheduled.num_scheduled_tokens - rejected;
  if (commit.num_computed_tokens != expected)
    context.report(count_finding(Rule::rejected_draft_counted, commit.request, expected,
                                 commit.num_computed_tokens, "computed tokens after the step"));
  if (commit.num_tokens != scheduled.num_tokens + commit.num_appended_tokens)
    context.report(count_finding(Rule::metadata_inconsistent, commit.request,
                                 scheduled.num_tokens + commit.num_appended_tokens,
                                 commit.num_tokens, "known tokens after the step"));
}

void ProgressCheck::check_commits(CheckContext& context) {
  const StepTrace& trace = context.trace();
  std::vector<std::int32_t> accepted(trace.scheduled.size(), 0);
  for (const RowTrace& row : trace.rows)
    if (row.scheduled >= 0 && static_cast<std::size_t>(row.scheduled) < accepted.size())
      accepted[static_cast<std::size_t>(row.scheduled)] = row.num_sampled_tokens;
  if (trace.committed.size() != trace.scheduled.size()) {
    context.report(count_finding(
        Rule::metadata_inconsistent, {}, static_cast<std::int64_t>(trace.scheduled.size()),
        static_cast<std::int64_t>(trace.committed.size()), "committed requests"));
    return;
  }
  for (std::size_t i = 0; i < trace.committed.size(); ++i) {
    const CommitTrace& commit = trace.committed[i];
    const ScheduledTrace& scheduled = trace.scheduled[i];
    check_commit(context, scheduled, commit, accepted[i]);
    Known& request = known(commit.request);
    request.num_computed_tokens = commit.num_computed_tokens;
    if (commit.num_computed_tokens > request.most_computed) {
      request.most_computed = commit.num_computed_tokens;
      tokens_without_progress_ = 0;
    }
    request.num_tokens = commit.finished ? 0 : commit.num_tokens;
  }
}

void ProgressCheck::watch(CheckContext& context) {
  const StepTrace& trace = context.trace();
  for (const CommandTrace& command : trace.commands) {
    if (command.command == "reset_prefix_cache" || command.command == "preempt")
      tokens_without_progress_ = 0;
    if (command.outcome == CommandOutcome::ignored) {
      Finding finding = count_finding(Rule::expectation_unused, command.request, command.value, -1,
                                      command.reason);
      context.report(finding);
    }
  }
  if (trace.num_unfinished == 0) return;
  if (trace.num_scheduled_tokens == 0) {
    const bool told = std::ranges::any_of(
        trace.commands, [](const CommandTrace& c) { return c.command != "add_request"; });
    const bool excused = trace.budget_overridden || trace.num_pending_commands > 0 ||
                         !trace.preempted.empty() || told;
    if (!excused)
      context.report(count_finding(Rule::no_progress, {}, trace.num_unfinished, 0,
                                   "unfinished requests, and nothing was scheduled"));
    return;
  }
  std::int64_t live_tokens = 0;
  for (const ScheduledTrace& scheduled : trace.scheduled) live_tokens += scheduled.num_tokens;
  unfinished_tokens_ = std::max(live_tokens, unfinished_tokens_);
  tokens_without_progress_ += trace.num_scheduled_tokens;
  if (tokens_without_progress_ > kFruitlessRounds * (unfinished_tokens_ + 64)) {
    context.report(count_finding(Rule::no_progress, {}, 0, tokens_without_progress_,
                                 "tokens computed since any request got further"));
    tokens_without_progress_ = 0;
  }
}

}  // namespace hybridscope
