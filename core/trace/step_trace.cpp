#include "core/trace/step_trace.h"

#include <algorithm>

namespace hybridscope {

std::vector<GroupTrace> make_group_traces(const KVCacheConfig& config) {
  std::vector<GroupTrace> groups(config.groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    groups[g].group = static_cast<std::int32_t>(g);
    groups[g].is_mamba = config.groups[g].is_mamba();
    groups[g].block_size = config.groups[g].block_size();
  }
  return groups;
}

std::string_view ignored_reason_words(IgnoredReason reason) {
  switch (reason) {
    case IgnoredReason::none: return {};
    case IgnoredReason::not_running: return "the request is not running";
    case IgnoredReason::has_finished: return "the request has finished";
    case IgnoredReason::drafts_planned_ahead:
      return "asynchronous scheduling plans every draft list before the drafts are known";
    case IgnoredReason::no_draft_list:
      return "the request is not past its prompt, so it has no draft list";
    case IgnoredReason::samples_nothing: return "the request samples nothing in this step";
    case IgnoredReason::no_drafts_to_accept: return "the row has no drafts that can be accepted";
    case IgnoredReason::count_out_of_range: return "the count is outside 1..1+drafts of this step";
    case IgnoredReason::blocks_in_use: return "blocks are in use";
    case IgnoredReason::frees_deferred:
      return "its requests were preempted, but their blocks come back with the frame in flight, "
             "so that the hashes stay";
  }
  return {};
}

const TokenTerms* StepTrace::token_terms_of(RequestId request) const {
  const auto last = std::find_if(token_terms.rbegin(), token_terms.rend(),
                                 [&](const TokenTerms& of) { return of.request == request; });
  return last == token_terms.rend() ? nullptr : &*last;
}

void StepTrace::clear() {
  commands.clear();
  scheduled.clear();
  skipped.clear();
  token_terms.clear();
  lookups.clear();
  preempted.clear();
  cache_events.clear();
  hit_hashes.clear();
  label_history.clear();
  zeroed_blocks.clear();
  rows.clear();
  dummy_rows.clear();
  tokens.clear();
  for (GroupTrace& group : groups) {
    group.attention_writes.clear();
    group.metadata.reset();
    group.reused_metadata = false;
    group.accepted_counts_given = true;
    group.block_table = {};
    group.temporal_source_column = {};
    group.conv_source_column = {};
  }
  pre_copies.clear();
  post_copies.clear();
  committed.clear();
  commit_events.clear();
  commit_label_history.clear();
  committed_step = 0;
  budget_overridden = false;
  num_scheduled_tokens = 0;
  uniform_decode = false;
}

ForwardContext forward_context(const StepTrace& trace, const GroupTrace& group,
                               MambaCacheMode mamba_cache_mode) {
  return {.mamba_cache_mode = mamba_cache_mode,
          .num_rows = static_cast<std::int32_t>(trace.rows.size()),
          .block_size = group.block_size,
          .temporal_source_column = group.temporal_source_column,
          .conv_source_column = group.conv_source_column};
}

std::int32_t copied_tokens(const StepTrace& trace, const BlockCopy& copy) {
  for (const ScheduledTrace& scheduled : trace.scheduled)
    if (scheduled.request == copy.request && scheduled.admission != Admission::running)
      return scheduled.num_hit_tokens;
  for (const CacheEvent& event : trace.cache_events)
    if (event.kind == CacheEventKind::registered && event.block == copy.block && event.column < 0)
      return event.num_tokens;
  return 0;
}

}  // namespace hybridscope
