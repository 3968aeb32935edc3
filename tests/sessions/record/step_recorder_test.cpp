#include "sessions/record/step_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    const auto groups = run.runner().engine().config().kv_cache_config.groups.size();
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

}  // namespace
}  // namespace hybridscope::step_recorder_test
