#include "core/trace/step_trace.h"

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

void StepTrace::clear() {
  commands.clear();
  scheduled.clear();
  skipped.clear();
  lookups.clear();
  preempted.clear();
  cache_events.clear();
  hit_hashes.clear();
  label_history.clear();
  rows.clear();
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

}  // namespace hybridscope
