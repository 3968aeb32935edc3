// The columns of each table with parts of steps: the field lists of sessions/record/step_fields.h
// as values that can be passed on. Writing and reading use the same lists.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sessions/record/step_fields.h"
#include "sessions/record/step_record.h"

namespace hybridscope::fields {

inline constexpr auto kStep = [](auto& record, auto& visit) {
  for_each_step_field(record.trace, visit);
  for_each_count_field(record.counts, visit);
};
inline constexpr auto kDigests = [](auto& digests, auto& visit) {
  for (std::size_t i = 0; i < kNumStepSections; ++i)
    visit(step_section_name(static_cast<StepSection>(i)), digests.of[i]);
};
inline constexpr auto kGraph = [](auto& trace, auto& visit) { for_each_graph_field(trace, visit); };
inline constexpr auto kCommand = [](auto& command, auto& visit) {
  for_each_command_field(command, visit);
};
inline constexpr auto kScheduled = [](auto& scheduled, auto& visit) {
  for_each_scheduled_field(scheduled, visit);
};
inline constexpr auto kRow = [](auto& row, auto& visit) {
  for_each_row_field(row, visit);
  for_each_layout_field(row, visit);
};
inline constexpr auto kCommit = [](auto& commit, auto& visit) {
  for_each_commit_field(commit, visit);
};
inline constexpr auto kPreempted = [](auto& request, auto& visit) { visit("request", request); };
inline constexpr auto kSkipped = [](auto& skipped, auto& visit) {
  for_each_skipped_field(skipped, visit);
};
inline constexpr auto kTerms = [](auto& terms, auto& visit) { for_each_terms_field(terms, visit); };
inline constexpr auto kLookup = [](auto& lookup, auto& visit) {
  for_each_lookup_field(lookup, visit);
};
inline constexpr auto kGroupLookup = [](auto& group, auto& visit) {
  for_each_group_lookup_field(group, visit);
};
inline constexpr auto kGroup = [](auto& group, auto& visit) { for_each_group_field(group, visit); };
inline constexpr auto kEvent = [](auto& event, auto& visit) {
  for_each_cache_event_field(event, visit);
};
inline constexpr auto kChange = [](auto& change, auto& visit) {
  visit("request", change.request);
  visit("group", change.group);
  visit("col", change.column);
  visit("block", change.block);
};
inline constexpr auto kDecision = [](auto& decided, auto& visit) {
  for_each_decision_field(decided, visit);
};
inline constexpr auto kCopy = [](auto& copy, auto& visit) { for_each_copy_field(copy, visit); };
inline constexpr auto kAttentionWrite = [](auto& write, auto& visit) {
  for_each_attention_write_field(write, visit);
};
// The elements follow as a blob.
inline constexpr auto kArray = [](auto& array, auto& visit) {
  visit("group", array.group);
  visit("name", array.name);
  visit("dtype", array.dtype);
  visit("dims", array.dims);
  visit("num_rows", array.rows);
  visit("num_cols", array.cols);
};
inline constexpr auto kWrite = [](auto& write, auto& visit) { for_each_write_field(write, visit); };
inline constexpr auto kFinding = [](auto& finding, auto& visit) {
  for_each_finding_field(finding, visit);
};

// The names of what `for_each` shows of a T.
template <class T, class ForEach>
std::vector<std::string> field_names(ForEach for_each) {
  std::vector<std::string> names;
  const auto append = [&names](std::string_view name, const auto&) { names.emplace_back(name); };
  const T sample{};
  for_each(sample, append);
  return names;
}

// The column of a field. GROUP is an SQL keyword, so the field `group` has the column `grp`.
inline std::string_view column_of(std::string_view field) {
  return field == "group" ? "grp" : field;
}

// `keys`, then the columns of the fields that `for_each` visits in a T.
template <class T, class ForEach>
std::vector<std::string> columns(std::vector<std::string> keys, ForEach for_each) {
  for (const std::string& name : field_names<T>(for_each)) keys.emplace_back(column_of(name));
  return keys;
}

}  // namespace hybridscope::fields
