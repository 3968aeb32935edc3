#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <thread>

#include "core/engine/worker_policies.h"
#include "storage/session_file.h"
#include "storage/session_writer.h"
#include "tests/storage/recorded_run.h"

namespace hybridscope::test::session_writer_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// A prompt of 6 tokens and two verify rows, of which the first one accepts its draft and so lands
// on the boundary of blocks of 8 (scenarios/align_boundary_by_accepted_drafts.json).
class SessionWriterTest : public testing::Test {
 protected:
  void record(RecordLevel level) {
    const Status recorded = record_run(shipped_scenario("align_boundary_by_accepted_drafts"),
                                       {.place = {.file = file_, .name = "one"}, .level = level});
    ASSERT_TRUE(recorded.ok()) << recorded.error().message;
    EXPECT_THAT(ask("PRAGMA integrity_check"), ElementsAre("ok"));
    EXPECT_THAT(ask("PRAGMA foreign_key_check"), IsEmpty());
  }
  std::vector<std::string> ask(const std::string& sql) const { return query(file_, sql); }
  // Deletes all sessions, also living ones.
  void delete_rows() const {
    for (const std::string& table :
         ask("SELECT t.name FROM sqlite_schema t, pragma_table_info(t.name) c "
             "WHERE t.type = 'table' AND c.name = 'session'"))
      execute(file_, "DELETE FROM " + table);
  }
  TemporaryFolder folder_;
  std::string file_ = folder_ / "runs.db";
};

TEST_F(SessionWriterTest, StepsRowsAndCommitsAreThoseOfTheScenario) {
  record(RecordLevel::blocks);
  EXPECT_THAT(ask("SELECT name || ' ' || status || ' ' || num_steps || ' ' || num_request_steps "
                  "FROM sessions"),
              ElementsAre("one complete 3 3"));
  EXPECT_THAT(ask("SELECT step || ': ' || num_scheduled_tokens || '+' || num_padding_tokens || ' ' "
                  "|| runtime_mode FROM v_steps ORDER BY step"),
              ElementsAre("1: 6+2 PIECEWISE", "2: 2+0 FULL", "3: 2+0 FULL"));
  EXPECT_THAT(ask("SELECT request_name || ' ' || row_class || ' ' || num_computed_tokens || '+' || "
                  "num_scheduled_tokens || ' a' || num_sampled_tokens FROM v_rows ORDER BY step"),
              ElementsAre("A prefill 0+6 a1", "A verify 6+2 a2", "A verify 8+2 a2"));
  EXPECT_THAT(ask("SELECT num_tokens || '+' || num_appended_tokens || ' ' || finished FROM commits "
                  "ORDER BY step"),
              ElementsAre("7+1 0", "9+2 0", "10+1 1"));
  EXPECT_THAT(ask("SELECT n.name || ' ' || c.value FROM commands c JOIN enum_names n ON n.enum = "
                  "'command' AND n.code = c.command ORDER BY c.step"),
              ElementsAre("add_request 6", "set_accepted_tokens 2"));
}

TEST_F(SessionWriterTest, EveryTermOfACopyDecisionIsKept) {
  record(RecordLevel::blocks);
  EXPECT_THAT(
      ask("SELECT step || ' ' || launch || ' ' || rule || ' ' || outcome || ' running ' || "
          "num_tokens_running_state || ' new ' || new_num_computed_tokens || ' bias ' || "
          "accept_token_bias || ' ' || src_col || '>' || dst_col || ' blocks ' || conv_src_block "
          "|| ',' || temporal_src_block || '>' || dst_block FROM v_copies ORDER BY step"),
      ElementsAre("2 after_sampling postprocess_mamba_v1 within_block_shift running 7 new 8 bias 1 "
                  "0>0 blocks 2,3>2",
                  "3 before_forward preprocess_mamba copy running 0 new 0 bias 0 0>1 blocks "
                  "2,2>3"));
}

TEST_F(SessionWriterTest, BlockEventsStandInOrderBeforeAndAtCommit) {
  record(RecordLevel::blocks);
  EXPECT_THAT(ask("SELECT ordinal || ' ' || at_commit || ' ' || kind || ' ' || grp || ' ' || col "
                  "|| ' ' || block FROM v_block_events WHERE step = 3 ORDER BY ordinal"),
              ElementsAre("0 0 allocated 1 -1 5", "1 0 column_set 1 2 5", "2 0 registered 0 0 1",
                          "3 0 registered 1 0 2", "4 1 freed 0 -1 4", "5 1 freed 0 -1 1",
                          "6 1 table_dropped 0 -1 0", "7 1 freed 1 -1 5", "8 1 freed 1 -1 3",
                          "9 1 freed 1 -1 2", "10 1 table_dropped 1 -1 0"));
  EXPECT_THAT(ask("SELECT step || ' ' || grp || ' ' || col || ' ' || block FROM "
                  "worker_table_changes ORDER BY step, ordinal"),
              ElementsAre("1 0 0 1", "1 1 0 2", "1 1 1 3", "2 0 1 4", "3 1 2 5"));
}

TEST_F(SessionWriterTest, RequestsAndGroupsHaveTheirNames) {
  record(RecordLevel::blocks);
  EXPECT_THAT(ask("SELECT request || ' ' || name || ' ' || first_step FROM requests"),
              ElementsAre("0 A 1"));
  EXPECT_THAT(ask("SELECT grp || ' ' || kind || ' ' || block_size || ' ' || num_layers FROM "
                  "kv_cache_groups ORDER BY grp"),
              ElementsAre("0 full_attention 8 2", "1 mamba2 8 2"));
  EXPECT_THAT(ask("SELECT num_prompt_tokens || ' ' || num_output_tokens || ' ' || "
                  "num_state_copies || ' ' || first_step || '-' || last_step FROM v_requests"),
              ElementsAre("6 4 2 1-3"));
}

TEST_F(SessionWriterTest, LevelCountsHasCountsAndDigestsOnly) {
  record(RecordLevel::counts);
  EXPECT_THAT(ask("SELECT num_reqs || ' ' || num_state_copies || ' ' || num_output_tokens FROM "
                  "steps ORDER BY step"),
              ElementsAre("1 0 1", "1 1 2", "1 1 1"));
  EXPECT_EQ(ask("SELECT step FROM digests").size(), 3U);
  EXPECT_EQ(ask("SELECT step FROM commands").size(), 2U);
  for (const char* table : {"rows", "commits", "block_events", "copy_decisions", "lookups",
                            "worker_table_changes", "metadata_arrays", "write_events"})
    EXPECT_THAT(ask(std::string("SELECT step FROM ") + table), IsEmpty()) << table;
}

TEST_F(SessionWriterTest, LevelFullHasDecisionsArraysAndWrites) {
  record(RecordLevel::full);
  EXPECT_THAT(ask("SELECT step || ' ' || outcome FROM v_copies ORDER BY step, launch DESC"),
              ElementsAre("1 fresh_state", "1 no_boundary", "2 same_column", "2 within_block_shift",
                          "3 copy", "3 no_boundary"));
  // Little-endian: 0 and 6.
  EXPECT_THAT(ask("SELECT hex(elements) FROM metadata_arrays WHERE step = 1 AND name = "
                  "'query_start_loc'"),
              ElementsAre("0000000006000000"));
  EXPECT_THAT(ask("SELECT block || ' ' || first_slot || '+' || num_slots FROM attention_writes "
                  "ORDER BY step"),
              ElementsAre("1 0+6", "1 6+2", "4 0+2"));
  // The copy onto the boundary leaves what the verify row wrote into block 3.
  EXPECT_EQ(ask("SELECT fingerprint FROM write_events WHERE step = 2 AND block = 3"),
            ask("SELECT fingerprint FROM write_events WHERE step = 2 AND block = 2 AND kind = 4 "
                "AND content = 1"));
}

TEST_F(SessionWriterTest, AFindingIsKeptWithItsWords) {
  RunPlan plan = shipped_scenario("starved_request");
  plan.setup.config.policies.set(AcceptedCountOwner::persistent_row);
  ASSERT_TRUE(record_run(plan, {.place = {.file = file_, .name = "one"}}).ok());
  ASSERT_THAT(ask("SELECT rule FROM findings"), Not(IsEmpty()));
  EXPECT_EQ(ask("SELECT DISTINCT severity FROM findings WHERE rule = 'running-state-wrong'").at(0),
            "error");
  EXPECT_THAT(ask("SELECT text FROM findings WHERE rule = 'running-state-wrong'").at(0),
              HasSubstr("running-state-wrong: step "));
  EXPECT_EQ(ask("SELECT num_errors FROM sessions"),
            ask("SELECT count(*) FROM findings WHERE severity = 'error'"));
}

TEST_F(SessionWriterTest, ASessionWithoutANameIsCalledAsItsSource) {
  const RunPlan plan = shipped_scenario("align_boundary_by_accepted_drafts");
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(record_run(plan, {.place = {.file = file_, .name = {}}}).ok());
  EXPECT_THAT(
      ask("SELECT name FROM sessions ORDER BY session"),
      ElementsAre("align boundary by accepted drafts", "align boundary by accepted drafts-2"));
}

TEST_F(SessionWriterTest, ANameThatIsTakenOrDoesNotDoIsRefusedBeforeAnythingIsWritten) {
  record(RecordLevel::blocks);
  const RunPlan plan = shipped_scenario("align_boundary_by_accepted_drafts");
  const Status taken = record_run(plan, {.place = {.file = file_, .name = "one"}});
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().kind, ErrorKind::invalid_input);
  EXPECT_THAT(taken.error().message, HasSubstr("a session \"one\" already"));
  EXPECT_FALSE(record_run(plan, {.place = {.file = file_, .name = "a\nb"}}).ok());
  EXPECT_THAT(ask("SELECT name FROM sessions"), ElementsAre("one"));
}

TEST_F(SessionWriterTest, AForkKnowsItsParent) {
  record(RecordLevel::counts);
  const RunPlan plan = shipped_scenario("align_boundary_by_accepted_drafts");
  SessionHeader header = header_of(plan, RecordLevel::counts);
  header.parent_name = "one";
  header.parent = 1;
  header.forked_at = 2;
  auto writer = SessionWriter::begin({.file = file_, .name = "fork"}, header, {});
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer.value()->finish(SessionStatus::stopped, "as asked").ok());
  EXPECT_THAT(ask("SELECT parent || ' ' || parent_name || ' ' || forked_at || ' ' || status || ' ' "
                  "|| status_reason FROM sessions WHERE name = 'fork'"),
              ElementsAre("1 one 2 stopped as asked"));
  SessionFile file = SessionFile::open(file_, FileAccess::write).value();
  ASSERT_TRUE(file.remove(1).ok());
  EXPECT_EQ(file.find("fork").value().header.parent_name, "one");
  EXPECT_THAT(ask("SELECT parent FROM sessions"), ElementsAre("NULL"));
}

// SessionFile deletes no session that is being recorded; an SQLite client may.
TEST_F(SessionWriterTest, ADeletedSessionEndsItsRecordingAndTouchesNoOther) {
  std::int64_t num_records = 0;
  const Status recorded = record_run(
      synthetic_run(4), {.place = {.file = file_, .name = "deleted"},
                         .level = RecordLevel::blocks,
                         .watch =
                             [&](const StepRecord&, const CheckState&) {
                               if (++num_records != 2) return;
                               delete_rows();
                               record(RecordLevel::blocks);  // gets the number that is free now
                             },
                         .batch_steps = 1});
  ASSERT_FALSE(recorded.ok());
  EXPECT_EQ(recorded.error().message,
            file_ + ": session \"deleted\" was deleted while it was being recorded");
  EXPECT_THAT(ask("SELECT session || ' ' || name || ' ' || num_steps || ' ' || status "
                  "FROM sessions"),
              ElementsAre("1 one 3 complete"));
  EXPECT_THAT(ask("SELECT step FROM steps"), ElementsAre("1", "2", "3"));
}

TEST_F(SessionWriterTest, ASessionThatIsDeletedBehindItsLastStepIsNotReportedAsRecorded) {
  auto writer = SessionWriter::begin({.file = file_, .name = "gone"},
                                     header_of(synthetic_run(1), RecordLevel::counts), {})
                    .value();
  delete_rows();
  const Status finished = writer->finish(SessionStatus::complete, "");
  ASSERT_FALSE(finished.ok());
  EXPECT_THAT(finished.error().message, HasSubstr("session \"gone\" was deleted while"));
}

TEST_F(SessionWriterTest, AFileThatIsRemovedOrReplacedEndsTheRecording) {
  for (const bool replaced : {false, true}) {
    std::int64_t num_records = 0;
    const Status recorded =
        record_run(synthetic_run(4), {.place = {.file = file_, .name = "gone"},
                                      .level = RecordLevel::blocks,
                                      .watch =
                                          [&](const StepRecord&, const CheckState&) {
                                            if (++num_records != 2) return;
                                            std::filesystem::rename(file_, file_ + ".old");
                                            if (replaced) std::ofstream(file_) << "somebody's";
                                          },
                                      .batch_steps = 1});
    ASSERT_FALSE(recorded.ok());
    EXPECT_EQ(recorded.error().kind, ErrorKind::not_available);
    EXPECT_EQ(recorded.error().message,
              file_ +
                  ": was removed, renamed or replaced while session \"gone\" was being recorded "
                  "in it: the recording is not complete");
    std::filesystem::remove(file_ + ".old");
  }
  std::ifstream now(file_);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(now), {}), "somebody's");
}

TEST_F(SessionWriterTest, AFileThatIsRemovedBehindTheLastStepIsNotReportedAsRecorded) {
  auto writer = SessionWriter::begin({.file = file_, .name = "gone"},
                                     header_of(synthetic_run(1), RecordLevel::counts), {})
                    .value();
  std::filesystem::remove(file_);
  const Status finished = writer->finish(SessionStatus::complete, "");
  ASSERT_FALSE(finished.ok());
  EXPECT_THAT(finished.error().message, HasSubstr("was removed, renamed or replaced"));
}

TEST_F(SessionWriterTest, DiscardTakesTheSessionOutAgain) {
  record(RecordLevel::blocks);
  auto writer = SessionWriter::begin({.file = file_, .name = "half"},
                                     header_of(synthetic_run(1), RecordLevel::counts), {})
                    .value();
  ASSERT_TRUE(writer->discard().ok());
  EXPECT_THAT(ask("SELECT name FROM sessions"), ElementsAre("one"));
  EXPECT_THAT(ask("PRAGMA foreign_key_check"), IsEmpty());
}

TEST_F(SessionWriterTest, DiscardTakesAwayAFileThatWasMadeForTheSession) {
  const SessionHeader header = header_of(synthetic_run(1), RecordLevel::counts);
  auto writer = SessionWriter::begin({.file = file_, .name = "alone"}, header, {}).value();
  ASSERT_TRUE(writer->discard().ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));

  auto first = SessionWriter::begin({.file = file_, .name = "first"}, header, {}).value();
  auto second = SessionWriter::begin({.file = file_, .name = "second"}, header, {}).value();
  ASSERT_TRUE(second->finish(SessionStatus::complete, "").ok());
  ASSERT_TRUE(first->discard().ok());
  EXPECT_THAT(ask("SELECT name FROM sessions"), ElementsAre("second"));
}

// The writer commits after a while, not only when a batch is full: steps can be read while the run
// is still going on. A real delay, at most 20 s: what is shown is that the writer's time-out ends,
// and nothing but the file tells when it has.
TEST_F(SessionWriterTest, StepsAreInTheFileWhileTheRunGoesOnHoweverFewTheyAre) {
  std::int64_t num_records = 0;
  std::int64_t num_steps = 0;
  ASSERT_TRUE(record_run(synthetic_run(2),
                         {.place = {.file = file_, .name = "slow"},
                          .level = RecordLevel::counts,
                          .max_steps = 4,
                          .watch =
                              [&](const StepRecord&, const CheckState&) {
                                if (++num_records != 4) return;
                                for (int i = 0; i < 4000 && num_steps < 3; ++i) {
                                  std::this_thread::sleep_for(std::chrono::milliseconds(5));
                                  num_steps = query_number(file_, "SELECT count(*) FROM steps");
                                }
                              }})
                  .ok());
  EXPECT_EQ(num_steps, 3);
}

using std::chrono::milliseconds;
using std::chrono::seconds;

void push_steps(StepQueue& queue, int count) {
  for (int i = 0; i < count; ++i) queue.push(queue.take_free());
}

TEST(StepQueue, GivesStepsInOrderAndNoMoreThanAskedFor) {
  StepQueue queue({.max_steps = 8, .wake = 3});
  for (const int step : {1, 2, 3}) {
    auto queued = queue.take_free();
    queued->record.trace.step = step;
    queue.push(std::move(queued));
  }
  const StepQueue::Steps first = queue.take(seconds(10), 2);
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0]->record.trace.step, 1);
  EXPECT_EQ(first[1]->record.trace.step, 2);
  const StepQueue::Steps rest = queue.take_queued(2);
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0]->record.trace.step, 3);
  EXPECT_TRUE(queue.take_queued(2).empty());
}

TEST(StepQueue, AStepAloneIsGivenOnceItHasWaited) {
  StepQueue queue({.max_steps = 8, .wake = 4});
  push_steps(queue, 1);
  EXPECT_EQ(queue.take(milliseconds(20), 8).size(), 1U);
}

TEST(StepQueue, ThePusherWaitsWhileAllAreOnTheirWay) {
  StepQueue queue({.max_steps = 2, .wake = 1});
  push_steps(queue, 2);
  auto pusher = std::async(std::launch::async, [&] { push_steps(queue, 1); });
  // A real delay: only time shows that a thread goes on waiting.
  EXPECT_EQ(pusher.wait_for(milliseconds(50)), std::future_status::timeout);
  queue.give_back(queue.take(seconds(10), 1));
  EXPECT_EQ(pusher.wait_for(seconds(10)), std::future_status::ready);
}

TEST(StepQueue, StorageThatComesBackGoesRound) {
  StepQueue queue({.max_steps = 2, .wake = 1});
  auto queued = queue.take_free();
  const QueuedStep* address = queued.get();
  queue.push(std::move(queued));
  queue.give_back(queue.take(seconds(10), 1));
  EXPECT_EQ(queue.take_free().get(), address);
}

TEST(StepQueue, AfterAFailureNobodyWaits) {
  StepQueue queue({.max_steps = 2, .wake = 1});
  push_steps(queue, 2);
  auto pusher = std::async(std::launch::async, [&] { push_steps(queue, 100); });
  EXPECT_EQ(queue.take(seconds(10), 1).size(), 1U);  // is lost with what the writer met
  queue.fail({ErrorKind::io, "runs.db: disk full"});
  EXPECT_EQ(pusher.wait_for(seconds(10)), std::future_status::ready);
  EXPECT_EQ(queue.failure()->message, "runs.db: disk full");
  EXPECT_TRUE(queue.take_queued(8).empty());
}

TEST(StepQueue, ClosedItGivesWhatIsLeftThenNone) {
  StepQueue queue({.max_steps = 8, .wake = 4});
  push_steps(queue, 2);
  queue.close();
  EXPECT_EQ(queue.take(seconds(10), 8).size(), 2U);
  EXPECT_TRUE(queue.take(seconds(10), 8).empty());
}

}  // namespace

}  // namespace hybridscope::test::session_writer_test
