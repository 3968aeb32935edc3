#include "sessions/record/step_record.h"

#include <algorithm>
#include <array>

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

Result<const StepStamp*> InterruptibleSource::next() {
  if (interrupted_()) return Error{ErrorKind::not_available, "interrupted"};
  return ForwardedSource::next();
}

namespace {

// In the order of each enum.
constexpr std::array<std::string_view, 2> kKinds = {"run", "judge"};
constexpr std::array<std::string_view, 5> kStatuses = {"recording", "complete", "stopped",
                                                       "interrupted", "failed"};
constexpr std::array<std::string_view, 3> kLevels = {"counts", "blocks", "full"};
constexpr std::array<std::string_view, 2> kScopes = {"step", "all"};

template <class Enum, std::size_t N>
std::optional<Enum> enum_of(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

std::string_view session_kind_name(SessionKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

std::string_view session_status_name(SessionStatus status) {
  return kStatuses[static_cast<std::size_t>(status)];
}

std::string_view record_level_name(RecordLevel level) {
  return kLevels[static_cast<std::size_t>(level)];
}

std::string_view check_scope_name(CheckScope scope) {
  return kScopes[static_cast<std::size_t>(scope)];
}

std::optional<RecordLevel> record_level_of(std::string_view name) {
  return enum_of<RecordLevel>(kLevels, name);
}

std::optional<CheckScope> check_scope_of(std::string_view name) {
  return enum_of<CheckScope>(kScopes, name);
}

}  // namespace hybridscope
