#include "core/trace/step_trace.h"

namespace hybridscope {

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
    group.persistent_buffers_refreshed = false;
    group.block_table = {};
    group.temporal_source_column = {};
    group.conv_source_column = {};
  }
  pre_copies.clear();
  post_copies.clear();
  committed.clear();
  commit_events.clear();
  budget_overridden = false;
  num_scheduled_tokens = 0;
}

}  // namespace hybridscope
