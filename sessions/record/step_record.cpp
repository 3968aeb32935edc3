#include "sessions/record/step_record.h"

namespace hybridscope {

void StepRecord::clear() {
  trace.clear();
  trace.groups.clear();
  counts = {};
  digests = {};
  findings.clear();
  worker_changes.clear();
  arrays.clear();
  writes.clear();
  speech = {};
}

namespace {

void copy_group(const GroupTrace& from, GroupTrace& to) {
  to.group = from.group;
  to.is_mamba = from.is_mamba;
  to.block_size = from.block_size;
  to.attention_writes = from.attention_writes;
  to.accepted_counts_given = from.accepted_counts_given;
  to.reused_metadata = from.reused_metadata;
  to.replayed_arrays = {};
  to.persistent_buffers_step = from.persistent_buffers_step;
  to.metadata.reset();
  to.block_table = {};
  to.temporal_source_column = {};
  to.conv_source_column = {};
}

void copy_rows(const StepTrace& from, StepTrace& to) {
  to.rows = from.rows;
  for (RowTrace& row : to.rows) row.history = {};
}

// Copies the fields of the step itself.
void copy_step(const StepTrace& from, StepTrace& to) {
  to.step = from.step;
  to.committed_step = from.committed_step;
  to.time_us = from.time_us;
  to.duration_us = from.duration_us;
  to.commands = from.commands;
  to.token_budget = from.token_budget;
  to.budget_overridden = from.budget_overridden;
  to.num_scheduled_tokens = from.num_scheduled_tokens;
  to.num_running = from.num_running;
  to.num_waiting = from.num_waiting;
  to.num_free_blocks = from.num_free_blocks;
  to.graph = from.graph;
  to.uniform_decode = from.uniform_decode;
  to.num_unfinished = from.num_unfinished;
  to.num_pending_commands = from.num_pending_commands;
}

}  // namespace

void copy_counts(const StepTrace& from, StepTrace& to) {
  to.clear();
  to.groups.clear();
  copy_step(from, to);
}

void copy_decisions(const StepTrace& from, StepTrace& to) {
  copy_step(from, to);
  to.scheduled = from.scheduled;
  to.skipped = from.skipped;
  to.token_terms = from.token_terms;
  to.lookups = from.lookups;
  to.preempted = from.preempted;
  to.cache_events = from.cache_events;
  copy_rows(from, to);
  to.groups.resize(from.groups.size());
  for (std::size_t g = 0; g < from.groups.size(); ++g) copy_group(from.groups[g], to.groups[g]);
  to.pre_copies = from.pre_copies;
  to.post_copies = from.post_copies;
  to.committed = from.committed;
  to.commit_events = from.commit_events;
}

}  // namespace hybridscope
