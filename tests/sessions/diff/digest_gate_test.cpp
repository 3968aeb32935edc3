// A change of any field of a step is found behind its digests, but for a list of fields.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "core/metadata/builder_metadata.h"
#include "sessions/diff/session_diff.h"
#include "sessions/record/step_fields.h"
#include "sessions/run/checked_run.h"
#include "tests/sessions/diff/changed_field.h"
#include "tests/sessions/diff/live_pair.h"
#include "tests/support/property.h"

namespace hybridscope::digest_gate_test {
namespace {

// Values of arrays that were changed.
struct ChangedArrays {
  std::deque<std::vector<std::int32_t>> words;
  std::deque<std::vector<std::uint8_t>> flags;
};

// Changes array or number number `chosen` of one group's metadata that it is shown.
struct ChangeArray {
  std::int32_t chosen;
  ChangedArrays& kept;
  std::int32_t number = 0;
  std::string changed{};

  template <class T>
  void operator()(const MetadataField& field, T& value) {
    if (number++ != chosen) return;
    changed = field.name;
    if constexpr (std::is_same_v<T, bool>)
      value = !value;
    else if constexpr (std::is_arithmetic_v<T>)
      ++value;
    else
      change(value);
  }
  void operator()(const MetadataField&, TokenIndxDtype&) {}
  void operator()(const MetadataField&, CausalConv1dMetadata& conv1d) {
    if (!conv1d.present) return;
    (*this)({"nums_dict.8.nums"}, conv1d.nums);
    (*this)({"batch_ptr"}, conv1d.batch_ptr);
    (*this)({"token_chunk_offset_ptr"}, conv1d.token_chunk_offset_ptr);
  }

 private:
  template <class T>
  void change(TensorView<T>& view) {
    if (!view.present || view.size() == 0) {
      view.present = !view.present;
      return;
    }
    auto& values = keep(view);
    values.assign(view.data, view.data + view.size());
    ++values.front();
    view.data = values.data();
  }
  std::vector<std::int32_t>& keep(const TensorView<std::int32_t>&) {
    return kept.words.emplace_back();
  }
  std::vector<std::uint8_t>& keep(const TensorView<std::uint8_t>&) {
    return kept.flags.emplace_back();
  }
};

// Changes array number `chosen` and returns its name; empty if there are fewer arrays.
std::string change_array(StepTrace& trace, std::int32_t chosen, ChangedArrays& kept) {
  ChangeArray change{chosen, kept};
  TensorView<std::int32_t> starts =
      vector_view(trace.common.query_start_loc.data(),
                  static_cast<std::int32_t>(trace.common.query_start_loc.size()));
  change({"query_start_loc"}, starts);
  trace.common.query_start_loc = {starts.data, static_cast<std::size_t>(starts.rows)};
  TensorView<std::int32_t> lengths = vector_view(
      trace.common.seq_lens.data(), static_cast<std::int32_t>(trace.common.seq_lens.size()));
  change({"seq_lens"}, lengths);
  trace.common.seq_lens = {lengths.data, static_cast<std::size_t>(lengths.rows)};
  for (GroupTrace& group : trace.groups) {
    if (!group.metadata) continue;
    change({"temporal_source_column"}, group.temporal_source_column);
    change({"conv_source_column"}, group.conv_source_column);
    for_each_field(*group.metadata, change);
  }
  return change.changed;
}

// A session of one step.
class OneStep final : public StepSource {
 public:
  OneStep(const Engine& engine, const StepRecord& record) : engine_(engine), record_(record) {
    stamp_ = {.step = record.trace.step, .digests = record.digests, .counts = record.counts};
  }
  std::string title() const override { return "one step"; }
  const EngineConfig& config() const override { return engine_.config(); }
  RecordLevel level() const override { return RecordLevel::full; }
  std::string request_name(RequestId request) const override { return engine_.name_of(request); }
  Result<const StepStamp*> next() override {
    return std::exchange(read_, true) ? nullptr : &stamp_;
  }
  Result<const StepRecord*> record() override { return &record_; }

 private:
  const Engine& engine_;
  const StepRecord& record_;
  StepStamp stamp_;
  bool read_ = false;
};

// Steps of one scenario, with each of their fields changed once.
class Gate {
 public:
  explicit Gate(const Scenario& scenario)
      : run_(CheckedRun::create(plan_scenario(scenario, "test.json").value()).value()),
        digester_([this](RequestId id) { return run_.engine().name_of(id); }) {}

  bool done() const { return run_.has_ended(); }
  void step() {
    const CheckedStep checked = run_.step().value();
    const StepTrace& trace = checked.trace;
    const std::span<const Finding> findings = checked.findings;
    const StepRecord before = record_of(trace, findings);
    // The trace as it is, with the views that digests read.
    StepRecord shown;
    shown.trace = trace;
    shown.findings.assign(findings.begin(), findings.end());
    const std::int32_t count = test::num_fields(shown);
    for (std::int32_t chosen = 0; chosen < count; ++chosen) {
      StepRecord other = shown;
      const auto changed = test::change_field(other, chosen);
      const std::string name = std::string(diff_list(changed->list).name) + "." + changed->field;
      if (name != "state_copies.decision" && tried_.insert(name).second)
        compare(before, record_of(other.trace, other.findings), changed->list, name);
    }
    for (std::int32_t chosen = 0;; ++chosen) {
      ChangedArrays kept;
      StepTrace other = trace;
      const std::string array = change_array(other, chosen, kept);
      if (array.empty()) return;
      if (tried_.insert("arrays." + array).second)
        compare(before, record_of(other, findings), DiffList::arrays, "arrays." + array);
    }
  }

  const std::set<std::string>& tried() const { return tried_; }
  const std::set<std::string>& silent() const { return silent_; }

 private:
  StepRecord record_of(const StepTrace& trace, std::span<const Finding> findings) {
    StepRecord record;
    copy_decisions(trace, record.trace);
    append_arrays(trace, record.arrays);
    record.findings.assign(findings.begin(), findings.end());
    record.digests = digester_.digest(trace, findings);
    return record;
  }
  void compare(const StepRecord& before, const StepRecord& after, DiffList list,
               const std::string& name) {
    OneStep a(run_.engine(), before);
    OneStep b(run_.engine(), after);
    SessionDiff diff(a, b, {});
    const StepDifference* found = diff.next().value();
    if (found == nullptr || !std::ranges::any_of(found->fields, [&](const FieldDifference& field) {
          return field.list == list;
        }))
      silent_.insert(name);
  }

  CheckedRun run_;
  StepDigester digester_;
  std::set<std::string> tried_;
  std::set<std::string> silent_;
};

// Nothing is lost of them: slots follow from blocks and tokens, commands are told when they are
// applied. Worker's tables and writes to state are no part of a trace.
const std::set<std::string> kWithoutDigest = {"attention_writes.block",
                                              "attention_writes.col",
                                              "attention_writes.first_slot",
                                              "attention_writes.first_token",
                                              "attention_writes.num_slots",
                                              "attention_writes.row",
                                              "step.duration_us",
                                              "step.num_pending_commands",
                                              "step.time_us"};

TEST(DigestGate, AChangeOfEachFieldOfATraceGoesThroughButForAList) {
  std::set<std::string> tried;
  for (const char* name : {"preemption_and_resume", "shared_prefix_align", "v2_slots",
                           "all_mode_boundary_by_accepted_drafts", "mixed_gdn_batch",
                           "prompt_as_long_as_a_verify_window"}) {
    Scenario scenario = test::shipped_scenario(name);
    scenario.settings.engine = EngineProfile::reference;
    Gate gate(scenario);
    while (!gate.done()) gate.step();
    tried.insert(gate.tried().begin(), gate.tried().end());
    for (const std::string& silent : gate.silent())
      EXPECT_TRUE(kWithoutDigest.contains(silent)) << name << ": " << silent;
  }
  // What no scenario of these has, and what is no part of a trace.
  const std::set<DiffList> left_out = {
      DiffList::skipped, DiffList::preempted,    DiffList::arrays, DiffList::worker_tables,
      DiffList::counts,  DiffList::state_writes, DiffList::digests};
  for (const DiffListInfo& info : diff_lists()) {
    if (left_out.contains(info.list)) continue;
    for (const std::string_view field : field_names(info.list)) {
      const std::string name = std::string(info.name) + "." + std::string(field);
      if (field == kPresentField || name == "layout.row" || name == "state_copies.decision")
        continue;
      EXPECT_TRUE(tried.contains(name)) << name;
    }
  }
  EXPECT_TRUE(tried.contains("arrays.conv_source_column"));
  EXPECT_TRUE(tried.contains("arrays.seq_lens"));
}

// Any field of any record that is changed is found and named, and nothing else is.

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

}  // namespace hybridscope::digest_gate_test
