#include "core/check/check_progress.h"

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

namespace {

void report_count(CheckContext& context, Rule rule, RequestId request, std::int64_t expected,
                  std::int64_t seen, std::string_view detail) {
  context.report(
      {.rule = rule, .request = request, .expected = expected, .seen = seen, .detail = detail});
}

// expect(rule, expected, seen, detail) reports counts of the request that differ.
auto expect_of(CheckContext& context, RequestId request) {
  return [&context, request](Rule rule, std::int64_t expected, std::int64_t seen,
                             std::string_view detail) {
    if (expected != seen) report_count(context, rule, request, expected, seen, detail);
  };
}

}  // namespace

ProgressCheck::Known& ProgressCheck::known(RequestId request) {
  if (request.value < 0) return nobody_ = {};
  const auto index = static_cast<std::size_t>(request.value);
  if (index >= known_.size()) known_.resize(index + 1);
  return known_[index];
}

void ProgressCheck::begin_step(CheckContext& context) {
  asynchronous_ = context.trace().committed_step != context.trace().step;
  for (const RequestId request : context.trace().preempted) {
    known(request).num_computed_tokens = -1;
    known(request).exact_computed_tokens = -1;
  }
  check_counts(context);
  check_slots(context);
  check_row_counts(context);
  check_foreign_counts(context);
  check_pre_copied_counts(context);
}

void ProgressCheck::end_step(CheckContext& context) {
  check_drafts(context);
  check_samples(context);
  keep_accepted_counts(context.trace());
  check_chunks(context);
  check_commits(context);
  watch(context);
}

// c before the step is what the steps before it left, counting every draft in flight, or the hit of
// an admission.
void ProgressCheck::check_counts(CheckContext& context) {
  for (const ScheduledTrace& scheduled : context.trace().scheduled) {
    Known& request = known(scheduled.request);
    const auto expect = expect_of(context, scheduled.request);
    const bool running = scheduled.admission == Admission::running;
    const std::int32_t expected = running ? request.num_computed_tokens : scheduled.num_hit_tokens;
    if (!running || expected >= 0)
      expect(Rule::rejected_draft_counted, expected, scheduled.num_computed_tokens,
             "computed tokens before the step");
    if (running)
      expect(Rule::metadata_inconsistent, 0, scheduled.num_hit_tokens, "hit of a running request");
    expect(Rule::metadata_inconsistent, running ? request.num_output_placeholders : 0,
           scheduled.num_output_placeholders, "tokens that frames in flight will bring");
    const std::int32_t drafts =
        std::max(scheduled.num_computed_tokens + scheduled.num_scheduled_tokens -
                     scheduled.num_tokens - scheduled.num_output_placeholders,
                 0);
    expect(Rule::metadata_inconsistent, drafts, scheduled.num_draft_tokens,
           "draft tokens behind the known ones");
    request.num_computed_tokens = scheduled.num_computed_tokens + scheduled.num_scheduled_tokens;
    request.num_output_placeholders = scheduled.num_output_placeholders;
    if (asynchronous_ && scheduled.samples())
      request.num_output_placeholders += 1 + scheduled.num_draft_tokens;
    request.run = scheduled.run;
    if (request.num_tokens > 0)
      expect(Rule::metadata_inconsistent, request.num_tokens, scheduled.num_tokens, "known tokens");
    request.num_tokens = scheduled.num_tokens;
  }
}

// The c that a row runs with is exact, although the scheduler's may be optimistic
// (semantics: optimistic-and-exact).
void ProgressCheck::check_row_counts(CheckContext& context) {
  const StepTrace& trace = context.trace();
  frame_.clear();
  for (const ScheduledTrace& scheduled : trace.scheduled)
    frame_.push_back({scheduled.request, scheduled.run, scheduled.num_draft_tokens, 0});
  for (const RowTrace& row : trace.rows) {
    if (!is_in_frame(row)) continue;
    const ScheduledTrace& scheduled = trace.scheduled_of(row);
    const bool running = scheduled.admission == Admission::running;
    const std::int32_t expected =
        running ? known(scheduled.request).exact_computed_tokens : scheduled.num_computed_tokens;
    if (!running || expected >= 0)
      expect_of(context, scheduled.request)(Rule::rejected_draft_counted, expected,
                                            row.num_computed_tokens, "computed tokens of the row");
  }
}

// V2 reads all that it knows of a row by its slot.
void ProgressCheck::check_slots(CheckContext& context) {
  const std::vector<RowTrace>& rows = context.trace().rows;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (rows[r].slot < 0 || rows[r].slot_owner == rows[r].request) continue;
    report(context, Rule::foreign_row_datum,
           {rows[r].request.value, rows[r].slot_owner.value, "slot of another request",
            static_cast<std::int32_t>(r)});
  }
}

// What the request's last row left; an admitted request begins at 1.
std::int32_t ProgressCheck::own_accepted_tokens(const StepTrace& trace, const RowTrace& row) {
  const bool running = trace.scheduled_of(row).admission == Admission::running;
  return running ? known(row.request).num_accepted_tokens : 1;
}

// A count that was taken from another request's row does no harm where both are equal.
void ProgressCheck::check_foreign_counts(CheckContext& context) {
  const StepTrace& trace = context.trace();
  for (std::size_t r = 0; r < trace.rows.size(); ++r) {
    const RowTrace& row = trace.rows[r];
    if (row.accepted_from == row.request || !is_in_frame(row)) continue;
    const std::int32_t own = own_accepted_tokens(trace, row);
    if (row.num_accepted_tokens_before == own) continue;
    report(context, Rule::foreign_row_datum,
           {own, row.num_accepted_tokens_before, "accepted count of another request",
            static_cast<std::int32_t>(r)});
  }
}

// A row keeps its accepted count, unless its state was copied: then the count becomes 1 (semantics:
// preprocess-mamba). If both values are the row's, the one that is not the request's own is wrong.
void ProgressCheck::check_pre_copied_counts(CheckContext& context) {
  const StepTrace& trace = context.trace();
  pre_copied_.assign(trace.rows.size(), {});
  for (const CopyDecisionTrace& decided : trace.pre_copies.decisions) {
    const auto row = static_cast<std::size_t>(decided.row);
    if (row >= pre_copied_.size()) continue;
    PreCopied& copied = pre_copied_[row];
    copied.done = copied.done || decided.decision.copies();
    copied.by_rule = copied.by_rule || copied.done || decided.decision.resets_accepted_count;
  }
  for (std::size_t r = 0; r < trace.rows.size(); ++r) {
    const RowTrace& row = trace.rows[r];
    const PreCopied& copied = pre_copied_[r];
    const std::int32_t before = row.num_accepted_tokens_before;
    const std::int32_t after = row.num_accepted_tokens;
    if (after == 1 ? copied.by_rule || before == 1 : !copied.done && after == before) continue;
    if (!is_in_frame(row)) continue;
    const bool before_is_wrong = !copied.done && after == own_accepted_tokens(trace, row);
    report(context, Rule::foreign_row_datum,
           {before_is_wrong ? after
            : copied.done   ? 1
                            : before,
            before_is_wrong ? before : after,
            before_is_wrong ? "accepted count before the pre-copies"
                            : "accepted count after the pre-copies",
            static_cast<std::int32_t>(r)});
  }
}

void ProgressCheck::keep_accepted_counts(const StepTrace& trace) {
  for (const RowTrace& row : trace.rows)
    known(row.request).num_accepted_tokens = std::max(row.num_sampled_tokens, 1);
  for (const CopyDecisionTrace& decided : trace.post_copies.decisions)
    if (decided.decision.resets_accepted_count) known(decided.request).num_accepted_tokens = 1;
}

bool ProgressCheck::is_in_frame(const RowTrace& row) const {
  return row.scheduled >= 0 && static_cast<std::size_t>(row.scheduled) < frame_.size();
}

void ProgressCheck::check_drafts(CheckContext& context) {
  const StepTrace& trace = context.trace();
  for (const ScheduledTrace& scheduled : trace.scheduled)
    if (scheduled.num_draft_tokens < scheduled.num_drafts_offered)
      report_count(context, Rule::drafts_cut, scheduled.request, scheduled.num_drafts_offered,
                   scheduled.num_draft_tokens, "");
  for (const RowTrace& row : trace.rows)
    if (row.lost_drafts && is_in_frame(row))
      report_count(context, Rule::drafts_cut, row.request, trace.scheduled_of(row).num_draft_tokens,
                   0, "placeholders");
}

void ProgressCheck::check_samples(CheckContext& context) {
  const StepTrace& trace = context.trace();
  for (const RowTrace& row : trace.rows) {
    if (!is_in_frame(row)) continue;
    const ScheduledTrace& scheduled = trace.scheduled_of(row);
    const std::int32_t accepted = row.num_sampled_tokens;
    frame_[static_cast<std::size_t>(row.scheduled)].num_sampled_tokens = accepted;
    if (accepted > 1 + scheduled.num_draft_tokens)
      report_count(context, Rule::rejected_draft_counted, scheduled.request,
                   1 + scheduled.num_draft_tokens, accepted, "more tokens accepted than drafted");
    // A chunk that does not reach the last known token samples nothing that counts.
    if (scheduled.samples() != (accepted > 0))
      report_count(context, Rule::metadata_inconsistent, scheduled.request,
                   scheduled.samples() ? 1 : 0, accepted, "sampled tokens");
    std::int32_t& exact = known(scheduled.request).exact_computed_tokens;
    exact = row.num_computed_tokens + scheduled.num_scheduled_tokens;
    if (accepted > 0) exact -= scheduled.num_draft_tokens - (accepted - 1);
  }
}

void ProgressCheck::check_chunks(CheckContext& context) {
  if (context.config().mamba_cache_mode != MambaCacheMode::align) return;
  std::int32_t block_size = 0;
  for (const GroupTrace& group : context.trace().groups)
    if (group.is_mamba) block_size = group.block_size;
  if (block_size == 0) return;
  const CheckConfig& config = context.config();
  const std::int32_t grid = config.hits_inside_blocks ? config.hash_block_size : block_size;
  for (const ScheduledTrace& scheduled : context.trace().scheduled) {
    const std::int32_t end = scheduled.num_computed_tokens + scheduled.num_scheduled_tokens;
    if (end < scheduled.num_tokens && end % grid != 0)
      report_count(context, Rule::chunk_off_grid, scheduled.request, end / grid * grid, end,
                   "end of the chunk");
  }
}

// Checks the counts of one request when a frame returns in which it sampled row.num_sampled_tokens.
void ProgressCheck::check_commit(CheckContext& context, const FrameRow& row,
                                 const CommitTrace& commit) {
  const auto expect = expect_of(context, commit.request);
  expect_of(context, row.request)(Rule::foreign_row_datum, row.request.value, commit.request.value,
                                  "commit of another request");
  Known& request = known(commit.request);
  const std::int32_t sampled = row.num_sampled_tokens;
  const std::int32_t rejected = sampled > 0 ? row.num_draft_tokens - (sampled - 1) : 0;
  const bool appends =
      commit.outcome == CommitOutcome::taken || commit.outcome == CommitOutcome::preempted;
  if (commit.outcome == CommitOutcome::left_the_engine ||
      commit.outcome == CommitOutcome::stale_run) {
    expect(Rule::rejected_draft_counted, 0, commit.num_appended_tokens, "appended tokens");
    // The run goes on in the frame that is in flight now, so this frame is not of an earlier run.
    const bool goes_on = std::ranges::any_of(in_flight_, [&](const FrameRow& later) {
      return later.request == row.request && later.run == row.run;
    });
    if (asynchronous_ && commit.outcome == CommitOutcome::stale_run && goes_on)
      expect(Rule::rejected_draft_counted, sampled, 0, "appended tokens of a valid frame");
    return;
  }
  if (commit.outcome != CommitOutcome::preempted)
    expect(Rule::metadata_inconsistent, sampled > 0, appends, "frame appends tokens");
  if (commit.num_appended_tokens > sampled ||
      (commit.num_appended_tokens < sampled && !commit.finished))
    expect(Rule::rejected_draft_counted, sampled, commit.num_appended_tokens, "appended tokens");
  expect(Rule::rejected_draft_counted, sampled, sampled - commit.num_lost_tokens,
         "appended tokens of a valid frame");
  expect(Rule::metadata_inconsistent, request.num_tokens + commit.num_appended_tokens,
         commit.num_tokens, "known tokens after the step");
  const bool runs = commit.outcome != CommitOutcome::preempted;
  const bool takes_back = commit.finished && context.config().takes_stopped_tokens_back;
  const std::int32_t taken_back = takes_back ? sampled - commit.num_appended_tokens : 0;
  // A preemption may have dropped the placeholders at once.
  if (asynchronous_ && (runs || commit.num_output_placeholders != 0))
    expect(Rule::metadata_inconsistent,
           request.num_output_placeholders - rejected - commit.num_appended_tokens - taken_back,
           commit.num_output_placeholders, "tokens that frames in flight will bring");
  // A preempted request has nothing computed until it is admitted again. If it ends instead, the
  // cut tokens are taken off only when its frame was not stale; nothing uses the count any more.
  const std::int32_t computed = std::max(request.num_computed_tokens, 0) - (runs ? rejected : 0);
  if (runs || commit.num_computed_tokens != computed)
    expect(Rule::rejected_draft_counted, computed - taken_back, commit.num_computed_tokens,
           "computed tokens after the step");
  if (commit.outcome == CommitOutcome::taken && row.run != request.run)
    expect(Rule::rejected_draft_counted, request.run, row.run, "frame of an earlier run");
}

void ProgressCheck::check_commits(CheckContext& context) {
  const StepTrace& trace = context.trace();
  std::swap(frame_, in_flight_);
  const FrameRows& returned = asynchronous_ ? frame_ : in_flight_;
  if (trace.committed.size() != returned.size()) {
    report_count(context, Rule::metadata_inconsistent, {},
                 static_cast<std::int64_t>(returned.size()),
                 static_cast<std::int64_t>(trace.committed.size()), "committed requests");
    return;
  }
  for (std::size_t i = 0; i < trace.committed.size(); ++i) {
    const CommitTrace& commit = trace.committed[i];
    check_commit(context, returned[i], commit);
    if (commit.outcome == CommitOutcome::left_the_engine ||
        commit.outcome == CommitOutcome::stale_run)
      continue;
    Known& request = known(commit.request);
    request.num_output_placeholders = commit.num_output_placeholders;
    request.num_tokens = commit.finished ? 0 : commit.num_tokens;
    if (commit.outcome == CommitOutcome::preempted) continue;
    request.num_computed_tokens = commit.num_computed_tokens;
  }
}

void ProgressCheck::watch(CheckContext& context) {
  const StepTrace& trace = context.trace();
  for (const CommandTrace& command : trace.commands)
    if (command.outcome == CommandOutcome::ignored)
      report_count(context, Rule::expectation_unused, command.request, command.value, -1,
                   ignored_reason_words(command.reason));
  switch (watch_.take(trace)) {
    case RunProgress::moving: break;
    case RunProgress::nothing_scheduled:
      report_count(context, Rule::no_progress, {}, trace.num_unfinished, 0,
                   "unfinished requests, and nothing was scheduled");
      break;
    case RunProgress::in_circles:
      report_count(context, Rule::no_progress, {}, 0, watch_.tokens_without_progress(),
                   "tokens computed since any request got further");
      watch_.restart();
      break;
  }
}

}  // namespace hybridscope
