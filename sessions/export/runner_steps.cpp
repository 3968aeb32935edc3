#include "sessions/export/runner_steps.h"

#include <algorithm>

#include "core/metadata/builder_metadata.h"

namespace hybridscope {
namespace {

bool is_about_a_read(const Finding& finding) {
  return finding.rule == Rule::running_state_wrong || finding.rule == Rule::read_of_unwritten_block;
}

RunnerRow row_of(const StepTrace& trace, std::size_t r, std::span<const Finding> findings,
                 const BlockTableMirror& tables, const Names& names) {
  const RowTrace& row = trace.rows[r];
  RunnerRow made;
  made.request = names.request(row.request);
  made.num_computed_tokens = row.num_computed_tokens;
  made.num_accepted_tokens_before = row.num_accepted_tokens_before;
  made.num_accepted_tokens = row.num_accepted_tokens;
  made.num_draft_count = row.num_draft_count;
  made.num_sampled_tokens = row.num_sampled_tokens;
  if (row.scheduled >= 0) {
    made.checkpoint_position = trace.scheduled_of(row).checkpoint_position;
    made.checkpoint_column = trace.scheduled_of(row).checkpoint_column;
  }
  for (std::size_t g = 0; g < trace.groups.size(); ++g) {
    const auto known = static_cast<std::int32_t>(
        tables.block_ids(row.request, static_cast<std::int32_t>(g)).size());
    const TensorView<std::int32_t>& table = trace.groups[g].block_table;
    std::vector<std::int32_t>& columns = made.tables.emplace_back();
    for (std::int32_t column = 0; column < std::min(known, table.cols); ++column)
      columns.push_back(table.at(static_cast<std::int32_t>(r), column));
  }
  for (const CopyDecisionTrace& decision : trace.pre_copies.decisions)
    if (decision.request == row.request) made.column = decision.decision.dst_col;
  made.is_wrong = std::ranges::any_of(findings, [&](const Finding& finding) {
    return finding.request == row.request && is_about_a_read(finding);
  });
  return made;
}

// The rows of the first recurrent group that run the decode kernel.
void mark_decodes(const StepTrace& trace, MambaCacheMode mode, std::vector<RunnerRow>& rows) {
  const auto group = std::ranges::find_if(
      trace.groups, [](const GroupTrace& one) { return one.metadata.has_value(); });
  if (group == trace.groups.end()) return;
  std::vector<StateAccess> accesses;
  append_state_accesses(*group->metadata, forward_context(trace, *group, mode), accesses);
  for (const StateAccess& access : accesses)
    if (access.row >= 0 && static_cast<std::size_t>(access.row) < rows.size())
      rows[static_cast<std::size_t>(access.row)].runs_as_decode = access.is_decode;
}

}  // namespace

RunnerRequest RunnerLog::request_of(const ScheduledTrace& scheduled, const BlockTableMirror& tables,
                                    const Names& names) {
  RunnerRequest made;
  made.request = names.request(scheduled.request);
  made.admission = scheduled.admission;
  made.num_computed_tokens = scheduled.num_computed_tokens;
  made.num_output_tokens =
      scheduled.num_tokens - scheduled.num_prompt_tokens + scheduled.num_output_placeholders;
  made.num_scheduled_tokens = scheduled.num_scheduled_tokens;
  made.num_draft_tokens = scheduled.num_draft_tokens;
  made.placeholder_drafts = scheduled.placeholder_drafts;
  for (std::int32_t group = 0; group < tables.num_groups(); ++group) {
    const std::span<const std::int32_t> ids = tables.block_ids(scheduled.request, group);
    std::size_t& told = told_[{scheduled.request.value, group}];
    if (scheduled.admission != Admission::running) told = 0;
    const auto added = ids.subspan(std::min(told, ids.size()));
    made.new_blocks.emplace_back(added.begin(), added.end());
    told = ids.size();
  }
  return made;
}

RunnerStep RunnerLog::step_of(const StepTrace& trace, std::span<const Finding> findings,
                              const BlockTableMirror& tables, const Names& names) {
  RunnerStep step;
  step.step = trace.step;
  step.finished = std::move(finished_);
  finished_.clear();
  bool resets = false;
  for (const CommandTrace& command : trace.commands) {
    if (command.outcome != CommandOutcome::done) continue;
    if (command.command == CommandKind::abort)
      step.finished.push_back(names.request(command.request));
    resets |= command.command == CommandKind::reset_prefix_cache && command.value != 0;
  }
  // A reset preempts without telling the runner (semantics: cleanup-mamba-state-idx).
  for (const RequestId request : trace.preempted)
    if (!resets) step.preempted.push_back(names.request(request));
  for (const ScheduledTrace& scheduled : trace.scheduled)
    step.scheduled.push_back(request_of(scheduled, tables, names));
  for (std::size_t r = 0; r < trace.rows.size(); ++r)
    step.rows.push_back(row_of(trace, r, findings, tables, names));
  mark_decodes(trace, mamba_cache_mode_, step.rows);
  step.block_copies = block_copies_of(trace.cache_events);
  step.pre_copies = trace.pre_copies.copies;
  step.post_copies = trace.post_copies.copies;
  for (const CommitTrace& commit : trace.committed)
    if (commit.finished) finished_.push_back(names.request(commit.request));
  return step;
}

}  // namespace hybridscope
