// Any field of any record that is changed is found and named, and nothing else is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sessions/diff/record_comparer.h"
#include "tests/sessions/diff/changed_field.h"
#include "tests/sessions/diff/live_pair.h"
#include "tests/support/property.h"

namespace hybridscope::record_comparer_property_test {
namespace {

using test::change_field;
using test::ChangedField;
using test::draw;
using test::num_fields;

constexpr SectionMask kAllSections = [] {
  SectionMask sections{};
  sections.fill(true);
  return sections;
}();

// By what elements are matched: a changed one is on one side only.
bool names_its_element(const ChangedField& changed) {
  static const std::vector<std::pair<DiffList, std::vector<std::string>>> kKeys = {
      {DiffList::commands, {"command"}},
      {DiffList::state_copies, {"group", "decision"}},
      {DiffList::block_events, {"kind", "group", "col"}},
      {DiffList::attention_writes, {"row", "col"}},
      {DiffList::findings, {"rule", "group", "content", "col"}},
      {DiffList::state_writes, {"kind", "group", "content", "col"}}};
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
    scenario.settings.engine = EngineProfile::reference;
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
      RC_ASSERT(found.front().a.text() != found.front().b.text());
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
}  // namespace hybridscope::record_comparer_property_test
