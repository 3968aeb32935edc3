#include "tests/sessions/diff/changed_field.h"

#include "sessions/record/step_fields.h"

namespace hybridscope::test {
namespace {

// Calls visit(list, field, member) for every field of a record.
template <class Visit>
void visit_record(StepRecord& record, const Visit& visit) {
  StepTrace& trace = record.trace;
  const auto of = [&](DiffList list) {
    return [&visit, list](std::string_view name, auto& member) { visit(list, name, member); };
  };
  const auto each = [&](DiffList list, auto& elements, const auto& fields) {
    for (auto& element : elements) fields(element, of(list));
  };
  for_each_step_field(trace, of(DiffList::step));
  for_each_graph_field(trace, of(DiffList::graph));
  each(DiffList::commands, trace.commands,
       [](auto& e, const auto& v) { for_each_command_field(e, v); });
  each(DiffList::scheduled, trace.scheduled,
       [](auto& e, const auto& v) { for_each_scheduled_field(e, v); });
  each(DiffList::skipped, trace.skipped,
       [](auto& e, const auto& v) { for_each_skipped_field(e, v); });
  for (RequestId& request : trace.preempted) visit(DiffList::preempted, "request", request);
  for (AdmissionLookup& lookup : trace.lookups) {
    for_each_lookup_field(lookup, of(DiffList::lookups));
    each(DiffList::lookup_groups, lookup.explanation.groups,
         [](auto& e, const auto& v) { for_each_group_lookup_field(e, v); });
  }
  each(DiffList::rows, trace.rows, [](auto& e, const auto& v) { for_each_row_field(e, v); });
  each(DiffList::layout, trace.rows, [](auto& e, const auto& v) { for_each_layout_field(e, v); });
  each(DiffList::commits, trace.committed,
       [](auto& e, const auto& v) { for_each_commit_field(e, v); });
  for (CopyLaunch* launch : {&trace.pre_copies, &trace.post_copies}) {
    each(DiffList::copies, launch->decisions,
         [](auto& e, const auto& v) { for_each_decision_field(e, v); });
    each(DiffList::state_copies, launch->copies,
         [](auto& e, const auto& v) { for_each_copy_field(e, v); });
  }
  for (auto* events : {&trace.cache_events, &trace.commit_events})
    each(DiffList::block_events, *events,
         [](auto& e, const auto& v) { for_each_cache_event_field(e, v); });
  for (GroupTrace& group : trace.groups) {
    for_each_group_field(group, of(DiffList::groups));
    each(DiffList::attention_writes, group.attention_writes,
         [](auto& e, const auto& v) { for_each_attention_write_field(e, v); });
  }
  for (WorkerTableChange& change : record.worker_changes)
    visit(DiffList::worker_tables, "block", change.block);
  for (ArrayRecord& array : record.arrays)
    for (std::int32_t& value : array.values) visit(DiffList::arrays, array.name, value);
  each(DiffList::findings, record.findings,
       [](auto& e, const auto& v) { for_each_finding_field(e, v); });
  each(DiffList::state_writes, record.writes,
       [](auto& e, const auto& v) { for_each_write_field(e, v); });
}

template <class T>
void change(T& member) {
  if constexpr (std::is_same_v<T, RequestId>)
    member.value = member.value == 0 ? -1 : 0;
  else if constexpr (std::is_same_v<T, std::string_view>)
    member = "changed";
  else if constexpr (std::is_same_v<T, bool>)
    member = !member;
  else if constexpr (std::is_enum_v<T>)
    member = static_cast<T>(static_cast<int>(member) == 0 ? 1 : 0);
  else
    member += 1;
}

}  // namespace

std::optional<ChangedField> change_field(StepRecord& record, std::int32_t chosen) {
  std::optional<ChangedField> changed;
  std::int32_t number = 0;
  visit_record(record, [&](DiffList list, std::string_view name, auto& member) {
    if (number++ != chosen) return;
    change(member);
    changed = ChangedField{list, std::string(name)};
  });
  return changed;
}

std::int32_t num_fields(StepRecord& record) {
  std::int32_t number = 0;
  visit_record(record, [&](DiffList, std::string_view, auto&) { ++number; });
  return number;
}

}  // namespace hybridscope::test
