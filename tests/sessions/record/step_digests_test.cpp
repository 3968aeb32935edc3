#include "sessions/record/step_digests.h"

#include <gtest/gtest.h>

#include "sessions/record/step_fields.h"
#include "tests/sessions/record/recorded_run.h"

namespace hybridscope::step_digests_test {
namespace {

using test::RecordedRun;
using test::small_scenario;

constexpr const char* kBoth =
    R"([{"id": "A", "prompt": 9, "max_tokens": 4}, {"id": "B", "prompt": 9, "max_tokens": 4}])";
constexpr const char* kOtherOrder =
    R"([{"id": "B", "prompt": 9, "max_tokens": 4}, {"id": "A", "prompt": 9, "max_tokens": 4}])";

TEST(StepDigests, KnowRequestsByNameWhateverTheirNumbersAndRows) {
  RecordedRun first(small_scenario(kBoth), RecordLevel::counts);
  RecordedRun second(small_scenario(kOtherOrder), RecordLevel::counts);
  const StepDigests a = first.next().digests;
  const StepDigests b = second.next().digests;
  EXPECT_EQ(a[StepSection::rows], b[StepSection::rows]);
  EXPECT_EQ(a[StepSection::schedule], b[StepSection::schedule]);
  EXPECT_EQ(a[StepSection::copies], b[StepSection::copies]);
  EXPECT_NE(a[StepSection::layout], b[StepSection::layout]);  // A was in row 0, now B is
  EXPECT_NE(a[StepSection::blocks], b[StepSection::blocks]);  // and had block 1
}

TEST(StepDigests, TellRequestsOfAnotherNameApart) {
  RecordedRun first(small_scenario(R"([{"id": "A", "prompt": 9, "max_tokens": 4}])"),
                    RecordLevel::counts);
  RecordedRun second(small_scenario(R"([{"id": "C", "prompt": 9, "max_tokens": 4}])"),
                     RecordLevel::counts);
  EXPECT_NE(first.next().digests[StepSection::rows], second.next().digests[StepSection::rows]);
}

// Visits fields and adds 1 to the one with number `target`.
struct ChangeField {
  int target;
  int number = 0;
  bool changed = false;

  template <class T>
  void operator()(std::string_view, T& value) {
    if (number++ != target) return;
    changed = true;
    if constexpr (std::is_same_v<T, bool>)
      value = !value;
    else if constexpr (std::is_same_v<T, RequestId>)
      value.value = value.value == 0 ? 1 : 0;
    else if constexpr (std::is_enum_v<T>)
      value = static_cast<T>(static_cast<int>(value) + 1);
    else if constexpr (std::is_same_v<T, std::string_view>)
      value = "another text";
    else
      value += 1;
  }
};

// Changes each field that `walk` shows, one at a time; the section's digest has to notice.
template <class Walk>
int changes_noticed(const StepTrace& trace, StepSection section, const Walk& walk) {
  StepDigester digester([](RequestId id) { return "r" + std::to_string(id.value); });
  const std::uint64_t before = digester.digest(trace, {})[section];
  for (int target = 0;; ++target) {
    StepTrace changed = trace;
    ChangeField change{target};
    walk(changed, change);
    if (!change.changed) return target;
    EXPECT_NE(digester.digest(changed, {})[section], before) << "field " << target;
  }
}

TEST(StepDigests, NoticeAChangeOfEachField) {
  RecordedRun run(small_scenario(kBoth), RecordLevel::full);
  const StepTrace trace = run.next().trace;
  using Change = ChangeField;
  EXPECT_EQ(
      changes_noticed(trace, StepSection::schedule,
                      [](StepTrace& t, Change& c) { for_each_scheduled_field(t.scheduled[1], c); }),
      12);
  EXPECT_EQ(changes_noticed(trace, StepSection::rows,
                            [](StepTrace& t, Change& c) { for_each_row_field(t.rows[1], c); }),
            8);
  EXPECT_EQ(changes_noticed(trace, StepSection::layout,
                            [](StepTrace& t, Change& c) { for_each_layout_field(t.rows[1], c); }),
            3);
  EXPECT_EQ(changes_noticed(trace, StepSection::graph,
                            [](StepTrace& t, Change& c) { for_each_graph_field(t, c); }),
            5);
  EXPECT_EQ(changes_noticed(trace, StepSection::copies,
                            [](StepTrace& t, Change& c) {
                              for_each_decision_field(t.post_copies.decisions[1], c);
                            }),
            18);
  EXPECT_EQ(
      changes_noticed(trace, StepSection::commits,
                      [](StepTrace& t, Change& c) { for_each_commit_field(t.committed[1], c); }),
      8);
  EXPECT_EQ(changes_noticed(trace, StepSection::blocks,
                            [](StepTrace& t, Change& c) {
                              for_each_cache_event_field(t.cache_events.front(), c);
                            }),
            8);
}

// No small scenario leaves a request out.
TEST(StepDigests, NoticeWhoIsSkippedOrPreemptedAndWhy) {
  StepTrace trace;
  trace.skipped.push_back({RequestId{0}, {}});
  trace.preempted.push_back(RequestId{2});
  using Change = ChangeField;
  EXPECT_EQ(
      changes_noticed(trace, StepSection::schedule,
                      [](StepTrace& t, Change& c) { for_each_skipped_field(t.skipped[0], c); }),
      2);
  EXPECT_EQ(changes_noticed(trace, StepSection::schedule,
                            [](StepTrace& t, Change& c) { c("request", t.preempted[0]); }),
            1);
}

TEST(StepDigests, NoticeFromWhichColumnsStateIsRead) {
  StepDigester digester([](RequestId) { return "A"; });
  const std::int32_t columns[2] = {1, 2};
  StepTrace trace;
  trace.groups.resize(1);
  trace.groups[0].metadata = Mamba2Metadata{};
  const auto digest = [&] { return digester.digest(trace, {})[StepSection::metadata]; };
  const std::uint64_t none = digest();
  trace.groups[0].conv_source_column = vector_view(columns, 1);
  const std::uint64_t conv = digest();
  trace.groups[0].conv_source_column = vector_view(columns + 1, 1);
  const std::uint64_t other = digest();
  trace.groups[0].conv_source_column = {};
  trace.groups[0].temporal_source_column = vector_view(columns, 1);
  const std::uint64_t temporal = digest();
  EXPECT_NE(conv, none);
  EXPECT_NE(other, conv);
  EXPECT_NE(temporal, conv);
}

// The same two values as [2] and as [2, 1].
TEST(StepDigests, NoticeTheShapeOfAnArray) {
  StepDigester digester([](RequestId) { return "A"; });
  const std::int32_t blocks[2] = {1, 2};
  StepTrace trace;
  trace.groups.resize(1);
  MambaMetadata metadata;
  metadata.state_indices_tensor_d = vector_view(blocks, 2);
  trace.groups[0].metadata = metadata;
  const std::uint64_t vector = digester.digest(trace, {})[StepSection::metadata];
  metadata.state_indices_tensor_d = {blocks, 2, 1, 2, true};
  trace.groups[0].metadata = metadata;
  EXPECT_NE(digester.digest(trace, {})[StepSection::metadata], vector);
}

TEST(StepDigests, NoticeAFindingAndWhatItSays) {
  StepDigester digester([](RequestId) { return "A"; });
  const StepTrace trace;
  Finding label;
  label.rule = Rule::label_mismatch;
  label.expected = 8;
  label.seen = 7;
  Finding other = label;
  other.seen = 6;
  const auto none = digester.digest(trace, {})[StepSection::findings];
  const auto one = digester.digest(trace, {&label, 1})[StepSection::findings];
  EXPECT_NE(one, none);
  EXPECT_NE(digester.digest(trace, {&other, 1})[StepSection::findings], one);
}

}  // namespace
}  // namespace hybridscope::step_digests_test
