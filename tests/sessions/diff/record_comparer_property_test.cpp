// Any field of any record that is changed is found and named, and nothing else is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "sessions/diff/record_comparer.h"
#include "sessions/record/step_fields.h"
#include "tests/sessions/diff/live_pair.h"
#include "tests/support/property.h"

namespace hybridscope {
namespace {

using test::draw;

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

struct ChangedField {
  DiffList list;
  std::string field;
};

// Changes field number `chosen`; null if there are not so many.
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

// By what elements are matched: a changed one is on one side only.
bool names_its_element(const ChangedField& changed) {
  static const std::vector<std::pair<DiffList, std::vector<std::string>>> kKeys = {
      {DiffList::commands, {"command"}},
      {DiffList::state_copies, {"grp", "decision"}},
      {DiffList::block_events, {"kind", "grp", "col"}},
      {DiffList::attention_writes, {"row", "col"}},
      {DiffList::findings, {"rule", "grp", "content"}},
      {DiffList::state_writes, {"kind", "grp", "content", "col"}}};
  if (changed.field == "request") return true;
  return std::ranges::any_of(kKeys, [&](const auto& key) {
    return key.first == changed.list &&
           std::ranges::find(key.second, changed.field) != key.second.end();
  });
}

// Runs of several kinds with everything that a record can hold, findings too.
std::vector<StepRecord> records_of(LiveSource& source) {
  std::vector<StepRecord> records;
  while (source.next().value() != nullptr) records.push_back(*source.record().value());
  return records;
}

TEST(RecordComparerProperty, ARandomChangeOfARandomFieldIsFoundAndNamed) {
  std::array<std::int64_t, kNumDiffLists> tried{};
  for (const char* name : {"preemption_and_resume", "shared_prefix_align", "v2_slots",
                           "prompt_as_long_as_a_verify_window"}) {
    Scenario scenario = test::shipped_scenario(name);
    scenario.settings.engine = EngineProfile::pages;
    const auto source = test::live_source(scenario);
    const std::vector<StepRecord> records = records_of(*source);
    RequestNumbers names(*source, *source);
    const IgnoreRules rules;
    RecordComparer comparer(names, rules, RecordLevel::full);
    std::vector<FieldDifference> found;
    for (const StepRecord& record : records) comparer.compare(record, record, kAllSections, found);
    ASSERT_TRUE(found.empty());
    test::check_property(1000, [&] {
      const StepRecord& record =
          records[static_cast<std::size_t>(draw(0, static_cast<std::int32_t>(records.size()) - 1))];
      StepRecord other = record;
      const auto changed = change_field(other, draw(0, num_fields(other) - 1));
      found.clear();
      comparer.compare(record, other, kAllSections, found);
      ++tried[static_cast<std::size_t>(changed->list)];
      if (never_compared(changed->list, changed->field)) return;
      RC_ASSERT(!found.empty());
      if (names_its_element(*changed)) {
        const bool named = std::ranges::any_of(found, [&](const FieldDifference& difference) {
          return difference.list == changed->list;
        });
        // A decision's request is its copies' too, a row's that of its tokens.
        RC_ASSERT(named || changed->field == "request");
        return;
      }
      RC_ASSERT(found.size() == 1U);
      RC_ASSERT(found.front().list == changed->list);
      RC_ASSERT(found.front().field == changed->field);
      RC_ASSERT(found.front().a != found.front().b);
    });
  }
  // No list was left out; shipped scenarios have few skipped requests.
  for (const DiffListInfo& info : diff_lists())
    if (info.list != DiffList::counts && info.list != DiffList::digests &&
        info.list != DiffList::preempted && info.list != DiffList::skipped) {
      EXPECT_GT(tried[static_cast<std::size_t>(info.list)], 0) << info.name;
    }
}

}  // namespace
}  // namespace hybridscope
