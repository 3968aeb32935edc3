#include "core/check/step_checker.h"

#include <algorithm>

#include "core/check/check_rules.h"
#include "core/check/state_mirror.h"

namespace hybridscope {
namespace {

// Does it follow from the difference between two block tables?
bool follows_from(const Finding& table, const Finding& finding) {
  const bool of_request = finding.request == table.request;
  const bool of_block = finding.block == table.expected || finding.block == table.seen;
  switch (finding.rule) {
    case Rule::reference_count:
    case Rule::label_mismatch:
    case Rule::hit_longer_than_group: return of_request || of_block;
    case Rule::foreign_row_datum:
    case Rule::foreign_write:
    case Rule::read_of_unwritten_block: return of_request && of_block;
    case Rule::metadata_inconsistent:
      return of_request && finding.group == table.group && finding.detail.ends_with(" of a copy");
    default: return false;
  }
}

// A block table that differs from the other one is told before what follows from it in the cache
// and in copies.
void tell_tables_first(std::vector<Finding>& findings) {
  for (auto table = findings.begin(); table != findings.end(); ++table) {
    if (table->rule != Rule::block_table_mismatch) continue;
    const auto consequence = std::find_if(findings.begin(), table, [&](const Finding& before) {
      return follows_from(*table, before);
    });
    std::rotate(consequence, table, table + 1);
  }
}

}  // namespace

Result<StepChecker> StepChecker::create(const CheckConfig& config) {
  if (config.conv_kernel < 2 || config.conv_kernel > kMaxConvKernel)
    return invalid_input("conv_kernel is " + std::to_string(config.conv_kernel) + ", expected 2.." +
                         std::to_string(kMaxConvKernel));
  if (config.kv_cache_config.num_blocks < 2)
    return invalid_input("num_blocks is " + std::to_string(config.kv_cache_config.num_blocks) +
                         ", expected at least 2");
  if (config.num_speculative_tokens < 0 || config.hash_block_size < 1)
    return invalid_input("num_speculative_tokens and hash_block_size must not be negative");
  return StepChecker(config);
}

StepChecker::StepChecker(const CheckConfig& config) : state_(config), copies_(config) {}

std::span<const Finding> StepChecker::check(const StepTrace& trace, CheckScope scope) {
  findings_.clear();
  state_.writes.clear();
  state_.ops.clear();
  CheckContext context(state_, trace, findings_);
  check_schedule(context);
  follow_cache_events(context, trace.cache_events, trace.label_history);
  for (const std::int32_t block : trace.zeroed_blocks)
    if (context.is_block(block)) context.state().zero(block);
  progress_.begin_step(context);
  const bool has_rows = (!trace.rows.empty() || !trace.scheduled.empty()) && check_shapes(context);
  if (has_rows) check_prefix_hits(context);
  execute_block_copies(context);
  if (has_rows) execute(context, scope);
  execute_dummy_rows(context);
  if (scope == CheckScope::all)
    check_all_labels(context);
  else
    check_labels_of_step(context);
  progress_.end_step(context);
  follow_cache_events(context, trace.commit_events, trace.commit_label_history);
  check_registered_labels(context, trace.commit_events, {});
  check_finished_requests(context);
  if (trace.num_unfinished == 0) check_nothing_held(context);
  tell_tables_first(findings_);
  return findings_;
}

void StepChecker::execute(CheckContext& context, CheckScope scope) {
  const StepTrace& trace = context.trace();
  check_common_metadata(context);
  check_schedule_limits(context);
  check_replayed_graph(context);
  truth_.fold(trace, state_.config.conv_kernel);
  log_tokens(context, truth_);
  execute_copies(context, trace.pre_copies, WriteKind::pre_copy);
  state_.ops.num_before_forward = state_.ops.batches.size();
  for (const GroupTrace& group : trace.groups) {
    check_block_tables(context, truth_, group);
    if (group.is_mamba) {
      if (!check_metadata_shapes(context, group)) continue;
      check_group_metadata(context, group);
      execute_mamba_group(context, truth_, group);
    } else {
      execute_attention_group(context, truth_, group);
      if (scope == CheckScope::all) check_attention_reads(context, truth_, group);
    }
  }
  execute_copies(context, trace.post_copies, WriteKind::post_copy);
}

void StepChecker::execute_copies(CheckContext& context, const CopyLaunch& launch, WriteKind kind) {
  if (!check_copies(context, launch)) return;
  copies_.execute(context, launch, kind);
}

}  // namespace hybridscope
