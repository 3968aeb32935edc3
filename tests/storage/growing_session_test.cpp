// A session that is read while it is written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "storage/session_player.h"
#include "storage/session_writer.h"
#include "tests/storage/record_lines.h"
#include "tests/storage/recorded_run.h"

namespace hybridscope::test::growing_session_test {
namespace {

using testing::HasSubstr;

// The steps of a recorded scenario, written once more, a few at a time.
class GrowingSession : public testing::Test {
 protected:
  void SetUp() override {
    const RunPlan plan = shipped_scenario("preemption_and_resume");
    ASSERT_TRUE(record_run(plan, {.place = whole_place_}).ok());
    whole_ = SessionPlayer::open(whole_place_).value();
    auto writer = SessionWriter::begin(
        place_, header_of(plan, RecordLevel::full),
        {.program = "a test",
         .request_name = [this](RequestId id) { return whole_->reader().request_name(id); },
         .finding_text = {},
         .patience = std::chrono::milliseconds(0),
         .committed =
             [this](std::int64_t num_steps) {
               num_committed_ = num_steps;
               num_committed_.notify_all();
             }});
    ASSERT_TRUE(writer.ok());
    writer_ = std::move(writer).value();
  }
  // Returns when the steps are in the file.
  void write_up_to(std::int64_t last) {
    for (; num_written_ < last; ++num_written_) {
      ASSERT_TRUE(step_forward(*whole_));
      writer_->next_record() = whole_->record();
      ASSERT_TRUE(writer_->push().ok());
    }
    for (std::int64_t now = num_committed_; now < last; now = num_committed_)
      num_committed_.wait(now);
  }

  TemporaryFolder folder_;
  SessionPlace whole_place_{.file = folder_ / "whole.db", .name = "a run"};
  SessionPlace place_{.file = folder_ / "growing.db", .name = "a run"};
  std::unique_ptr<SessionPlayer> whole_;
  std::atomic<std::int64_t> num_committed_ = 0;
  std::int64_t num_written_ = 0;
  std::unique_ptr<SessionWriter> writer_;
};

TEST_F(GrowingSession, NewStepsAreSeenOnRequestOnly) {
  write_up_to(4);
  const auto reader = SessionReader::open(place_).value();
  write_up_to(9);
  EXPECT_EQ(reader->last_step(), 4);
  EXPECT_THAT(reader->read(5).error().message, HasSubstr("no step 5 was recorded (steps 1 to 4)"));
  ASSERT_TRUE(reader->see_new_steps().ok());
  EXPECT_EQ(reader->last_step(), 9);
  EXPECT_EQ(reader->step_after(4).value(), 5);
}

TEST_F(GrowingSession, StepsAreTheSameInAnyOrder) {
  write_up_to(4);
  const auto reader = SessionReader::open(place_).value();
  const auto whole = SessionReader::open(whole_place_).value();
  for (const std::int64_t last : {4, 9, 10, 20}) {
    write_up_to(last);
    ASSERT_TRUE(reader->see_new_steps().ok());
    for (const std::int64_t step : {last, std::int64_t{1}, last - 1, last})
      EXPECT_EQ(lines_of(*reader->read(step).value()), lines_of(*whole->read(step).value()));
  }
}

TEST_F(GrowingSession, StampsGoOnWhereTheyEnded) {
  write_up_to(2);
  const auto reader = SessionReader::open(place_).value();
  EXPECT_EQ(reader->next_stamp().value()->step, 1);
  EXPECT_EQ(reader->next_stamp().value()->step, 2);
  EXPECT_EQ(reader->next_stamp().value(), nullptr);
  write_up_to(3);
  ASSERT_TRUE(reader->see_new_steps().ok());
  EXPECT_EQ(reader->next_stamp().value()->step, 3);
  EXPECT_EQ(reader->next_stamp().value(), nullptr);
}

TEST_F(GrowingSession, BlocksHoldWhatTheyDoInTheWholeSession) {
  write_up_to(5);
  const auto reader = SessionReader::open(place_).value();
  const auto whole = SessionReader::open(whole_place_).value();
  for (const std::int64_t last : {5, 11, 20}) {
    write_up_to(last);
    ASSERT_TRUE(reader->see_new_steps().ok());
    const HeldBlocks* held = reader->held_blocks(last).value();
    const HeldBlocks* expected = whole->held_blocks(last).value();
    ASSERT_GT(expected->num_held(), 0);
    for (std::int32_t block = 0; block < held->num_blocks(); ++block)
      EXPECT_EQ(held->at(block), expected->at(block)) << block;
  }
}

TEST_F(GrowingSession, APlayerGoesOnWithTheTablesItHas) {
  write_up_to(3);
  const auto player = SessionPlayer::open(place_).value();
  ASSERT_TRUE(player->go_to(3).ok());
  write_up_to(12);
  ASSERT_TRUE(player->reader().see_new_steps().ok());
  EXPECT_EQ(player->step(), 3);
  ASSERT_TRUE(player->go_to(12).ok());
  EXPECT_EQ(lines_of(player->scheduler_tables()), lines_of(whole_->scheduler_tables()));
  EXPECT_EQ(lines_of(player->worker_tables()), lines_of(whole_->worker_tables()));
  ASSERT_TRUE(player->go_to(2).ok());
}

TEST_F(GrowingSession, ItsEndIsSeenToo) {
  write_up_to(20);
  const auto reader = SessionReader::open(place_).value();
  EXPECT_EQ(reader->info().status, SessionStatus::recording);
  ASSERT_TRUE(writer_->finish(SessionStatus::complete, "").ok());
  ASSERT_TRUE(reader->see_new_steps().ok());
  EXPECT_EQ(reader->info().status, SessionStatus::complete);
  EXPECT_EQ(reader->info().num_steps, 20);
}

}  // namespace
}  // namespace hybridscope::test::growing_session_test
