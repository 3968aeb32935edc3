#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sessions/record/step_digests.h"
#include "sessions/record/step_fields.h"
#include "sessions/record/step_recorder.h"
#include "tests/sessions/record/recorded_run.h"

namespace hybridscope::step_recorder_test {
namespace {

using test::RecordedRun;
using test::small_scenario;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Step 1 computes the prompt of 6 tokens, step 2 accepts a draft and ends on the block boundary,
// step 3 begins the next block.
Scenario two_blocks() {
  return small_scenario(R"([{"id": "A", "prompt": 6, "max_tokens": 4}])",
                        R"([{"step": 2, "accept": {"A": 2}}])");
}

std::vector<std::string> names_of(const std::vector<ArrayRecord>& arrays, std::int32_t group) {
  std::vector<std::string> names;
  for (const ArrayRecord& array : arrays)
    if (array.group == group) names.emplace_back(array.name);
  return names;
}

const ArrayRecord& array_of(const StepRecord& record, std::int32_t group, std::string_view name) {
  for (const ArrayRecord& array : record.arrays)
    if (array.group == group && array.name == name) return array;
  throw std::runtime_error("no such array");
}

TEST(StepRecorder, LevelCountsKeepsSumsAndDigestsOnly) {
  const auto records = RecordedRun(two_blocks(), RecordLevel::counts).rest();
  ASSERT_THAT(records, SizeIs(3));
  const StepCounts& second = records[1].counts;
  EXPECT_EQ(second.num_reqs, 1);
  EXPECT_EQ(second.num_prefills, 0);
  EXPECT_EQ(second.num_draft_tokens, 1);
  EXPECT_EQ(second.num_output_tokens, 2);
  EXPECT_EQ(second.num_state_copies, 1);
  EXPECT_EQ(records[0].counts.num_prompt_tokens, 6);
  EXPECT_EQ(records[2].counts.num_finished, 1);
  EXPECT_THAT(records[1].trace.rows, IsEmpty());
  EXPECT_THAT(records[1].trace.cache_events, IsEmpty());
  EXPECT_THAT(records[1].worker_changes, IsEmpty());
  EXPECT_EQ(records[1].digests, RecordedRun(two_blocks(), RecordLevel::full).rest()[1].digests);
}

TEST(StepRecorder, LevelBlocksKeepsDecisionsThatCopyAndTheirCopies) {
  const auto records = RecordedRun(two_blocks(), RecordLevel::blocks).rest();
  EXPECT_THAT(records[0].trace.pre_copies.decisions, IsEmpty());
  const CopyLaunch& shift = records[1].trace.post_copies;
  ASSERT_THAT(shift.decisions, SizeIs(1));
  ASSERT_THAT(shift.copies, SizeIs(1));
  EXPECT_EQ(shift.copies[0].decision, 0);
  EXPECT_EQ(shift.decisions[0].decision.outcome, StateCopyOutcome::within_block_shift);
  EXPECT_EQ(shift.decisions[0].decision.aligned_new_computed, 8);
  EXPECT_THAT(records[1].arrays, IsEmpty());
  EXPECT_THAT(records[1].writes, IsEmpty());
}

TEST(StepRecorder, LevelFullKeepsEveryDecisionArrayAndWrite) {
  const auto records = RecordedRun(two_blocks(), RecordLevel::full).rest();
  ASSERT_THAT(records[0].trace.pre_copies.decisions, SizeIs(1));
  EXPECT_EQ(records[0].trace.pre_copies.decisions[0].decision.outcome,
            StateCopyOutcome::fresh_state);
  EXPECT_THAT(names_of(records[0].arrays, -1), ElementsAre("query_start_loc", "seq_lens"));
  EXPECT_THAT(array_of(records[0], -1, "query_start_loc").values, ElementsAre(0, 6));
  EXPECT_EQ(array_of(records[0], 1, "num_prefills").values, std::vector<std::int32_t>{1});
  EXPECT_EQ(array_of(records[0], 1, "num_prefills").dims, 0);
  EXPECT_FALSE(array_of(records[0], 1, "block_idx_last_scheduled_token").present);
  EXPECT_FALSE(records[1].writes.empty());
  EXPECT_EQ(records[1].writes.back().event.kind, WriteKind::post_copy);
}

// What the worker's row holds is what the scheduler gave it: columns 0 (state) and 1 (draft) of the
// mamba group in step 1, column 2 when the second block begins. Keys and values of the draft behind
// token 8 need a second attention block in step 2 already.
TEST(StepRecorder, ChangesOfTheWorkersTablesAreToldOnce) {
  const auto records = RecordedRun(two_blocks(), RecordLevel::blocks).rest();
  const auto columns = [&](std::size_t step, std::int32_t group) {
    std::vector<std::int32_t> result;
    for (const WorkerTableChange& change : records[step].worker_changes)
      if (change.group == group) result.push_back(change.column);
    return result;
  };
  EXPECT_THAT(columns(0, 0), ElementsAre(0));
  EXPECT_THAT(columns(0, 1), ElementsAre(0, 1));
  EXPECT_THAT(columns(1, 0), ElementsAre(1));
  EXPECT_THAT(columns(1, 1), IsEmpty());
  EXPECT_THAT(columns(2, 0), IsEmpty());
  EXPECT_THAT(columns(2, 1), ElementsAre(2));
}

TEST(WorkerTables, ChangesAppliedInOrderGiveWhatTheRowsHold) {
  for (const std::string& file : test::shipped_scenario_files()) {
    SCOPED_TRACE(file);
    RecordedRun run(test::shipped_scenario_file(file), RecordLevel::blocks);
    const auto groups = run.engine().config().kv_cache_config.groups.size();
    WorkerTables replayed(static_cast<std::int32_t>(groups));
    std::int64_t compared = 0;
    while (!run.done()) {
      const StepRecord& record = run.next();
      for (const CacheEvent& event : record.trace.cache_events)
        if (event.kind == CacheEventKind::table_dropped) replayed.drop(event.request);
      for (const WorkerTableChange& change : record.worker_changes) replayed.apply(change);
      for (const GroupTrace& group : run.trace().groups) {
        for (std::size_t r = 0; r < run.trace().rows.size(); ++r) {
          const auto ids = replayed.block_ids(run.trace().rows[r].request, group.group);
          for (std::size_t c = 0; c < ids.size(); ++c, ++compared)
            ASSERT_EQ(ids[c], group.block_table.at(static_cast<std::int32_t>(r),
                                                   static_cast<std::int32_t>(c)))
                << "step " << record.trace.step << " row " << r << " column " << c;
        }
      }
      for (const CacheEvent& event : record.trace.commit_events)
        if (event.kind == CacheEventKind::table_dropped) replayed.drop(event.request);
    }
    EXPECT_GT(compared, 0);
  }
}

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

}  // namespace hybridscope::step_recorder_test
