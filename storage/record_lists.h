// A StepRecord as lists of rows of fields, shared by the reader and the writer of JSON Lines. Lists
// inside a row (the groups of a lookup) are rows too.
#pragma once

#include <type_traits>
#include <vector>

#include "storage/table_fields.h"

namespace hybridscope::fields {

inline constexpr auto kLookupRow = [](auto& lookup, auto& visit) {
  for_each_lookup_field(lookup, visit);
  visit("groups", lookup.explanation.groups);
};
inline constexpr auto kRowWithPlace = [](auto& row, auto& visit) {
  visit("scheduled", row.scheduled);
  visit("request", row.request);
  kRow(row, visit);
};
inline constexpr auto kDecisionRow = [](auto& decided, auto& visit) {
  visit("row", decided.row);
  for_each_decision_field(decided, visit);
};
inline constexpr auto kGroupRow = [](auto& group, auto& visit) {
  visit("group", group.group);
  visit("is_mamba", group.is_mamba);
  visit("block_size", group.block_size);
  for_each_group_field(group, visit);
  visit("attention_writes", group.attention_writes);
};
inline constexpr auto kArrayRow = [](auto& array, auto& visit) {
  kArray(array, visit);
  visit("present", array.present);
  visit("values", array.values);
};

// The fields of a nested row.
inline auto fields_inside(const GroupLookup&) { return kGroupLookup; }
inline auto fields_inside(const AttentionWrite&) { return kAttentionWrite; }

// Calls visit(name, list, fields) for every list of a record; `Record` may be const.
template <class Record, class Visit>
void for_each_list(Record& record, Visit&& visit) {
  auto& trace = record.trace;
  visit("commands", trace.commands, kCommand);
  visit("preempted", trace.preempted, kPreempted);
  visit("skipped", trace.skipped, kSkipped);
  visit("token_terms", trace.token_terms, kTerms);
  visit("lookups", trace.lookups, kLookupRow);
  visit("committed", trace.committed, kCommit);
  visit("scheduled", trace.scheduled, kScheduled);
  visit("rows", trace.rows, kRowWithPlace);
  visit("groups", trace.groups, kGroupRow);
  visit("cache_events", trace.cache_events, kEvent);
  visit("commit_events", trace.commit_events, kEvent);
  visit("worker_changes", record.worker_changes, kChange);
  visit("pre_decisions", trace.pre_copies.decisions, kDecisionRow);
  visit("pre_copies", trace.pre_copies.copies, kCopy);
  visit("post_decisions", trace.post_copies.decisions, kDecisionRow);
  visit("post_copies", trace.post_copies.copies, kCopy);
  visit("arrays", record.arrays, kArrayRow);
  visit("writes", record.writes, kWrite);
  visit("findings", record.findings, kFinding);
}

// The rows that every step has exactly once.
template <class Record, class Visit>
void for_each_single(Record& record, Visit&& visit) {
  visit("step_fields", record, kStep);
  visit("digests", record.digests, kDigests);
  visit("graph", record.trace, kGraph);
}

}  // namespace hybridscope::fields
