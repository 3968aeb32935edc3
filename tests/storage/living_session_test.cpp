// Who is told from whom: a session that is being recorded, and one whose recorder died.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>

#include "storage/session_file.h"
#include "storage/session_player.h"
#include "storage/session_reader.h"
#include "storage/session_rows.h"
#include "storage/session_writer.h"
#include "storage/step_history.h"
#include "tests/storage/record_lines.h"
#include "tests/storage/recorded_run.h"

namespace hybridscope::test::living_session_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A recorder in a process of its own, which waits in the middle of its recording.
class OtherRecorder {
 public:
  OtherRecorder(const RunPlan& plan, const SessionPlace& place) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) return;
    child_ = fork();
    if (child_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // also where the test ends otherwise than expected
      const Status recorded =
          record_run(plan, {.place = place, .watch = [&](const StepRecord&, const CheckState&) {
                              if (write(ends[1], "", 1) != 1) _exit(2);
                              pause();  // until it is killed
                            }});
      _exit(recorded.ok() ? 0 : 1);
    }
    close(ends[1]);
    char byte = 0;
    began_ = read(ends[0], &byte, 1) == 1;
    close(ends[0]);
  }
  OtherRecorder(const OtherRecorder&) = delete;
  OtherRecorder& operator=(const OtherRecorder&) = delete;
  ~OtherRecorder() { die(); }

  bool began() const { return began_; }
  void die() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    child_ = 0;
  }

 private:
  pid_t child_ = 0;
  bool began_ = false;
};

class LivingSession : public testing::Test {
 protected:
  std::vector<std::string> statuses() {
    std::vector<std::string> words;
    const auto sessions = SessionFile::open(path_, FileAccess::read).value().sessions();
    for (const SessionInfo& info : sessions.value())
      words.push_back(info.header.name + " " + std::string(session_status_name(info.status)));
    return words;
  }
  SessionPlace place(const std::string& name) { return {.file = path_, .name = name}; }

  TemporaryFolder folder_;
  std::string path_ = folder_ / "runs.db";
  RunPlan plan_ = synthetic_run(4);
};

TEST_F(LivingSession, AKilledRecorderIsToldFromTwoLivingOnesInTheSameFile) {
  OtherRecorder first(plan_, place("first"));
  OtherRecorder second(plan_, place("second"));
  OtherRecorder third(plan_, place("third"));
  ASSERT_TRUE(first.began() && second.began() && third.began());
  EXPECT_THAT(statuses(), ElementsAre("first recording", "second recording", "third recording"));
  second.die();
  EXPECT_THAT(statuses(), ElementsAre("first recording", "second interrupted", "third recording"));
  first.die();
  third.die();
  EXPECT_THAT(statuses(),
              ElementsAre("first interrupted", "second interrupted", "third interrupted"));
  const auto info = SessionFile::open(path_, FileAccess::read).value().find("second").value();
  EXPECT_EQ(info.status_reason,
            "its recorder ended without recording an end, as when it is killed");
}

TEST_F(LivingSession, ItIsNeitherDeletedNorRenamedUntilItsRecorderIsGone) {
  OtherRecorder other(plan_, place("now"));
  ASSERT_TRUE(other.began());
  auto file = SessionFile::open(path_, FileAccess::write).value();
  for (const Status& refused : {file.remove(1), file.rename(1, "later")}) {
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::not_available);
    EXPECT_THAT(refused.error().message,
                HasSubstr("session \"now\" is being recorded; end its recorder first"));
  }
  EXPECT_TRUE(file.set_note(1, "notes are fine").ok());
  other.die();
  EXPECT_TRUE(file.rename(1, "later").ok());
  EXPECT_TRUE(file.remove(1).ok());
}

TEST_F(LivingSession, TheLastRecorderRemovesTheLockFileAndAKilledOneLeavesItToTheNext) {
  const std::string lock = path_ + "-lock";
  ASSERT_TRUE(record_run(plan_, {.place = place("whole")}).ok());
  EXPECT_FALSE(std::filesystem::exists(lock));
  OtherRecorder other(plan_, place("killed"));
  ASSERT_TRUE(other.began());
  ASSERT_TRUE(record_run(plan_, {.place = place("beside")}).ok());
  EXPECT_TRUE(std::filesystem::exists(lock));  // of the other one
  other.die();
  EXPECT_TRUE(std::filesystem::exists(lock));
  ASSERT_TRUE(record_run(plan_, {.place = place("after")}).ok());
  EXPECT_FALSE(std::filesystem::exists(lock));
  EXPECT_THAT(statuses(), ElementsAre("whole complete", "killed interrupted", "beside complete",
                                      "after complete"));
}

TEST_F(LivingSession, ACopyOfItIsInterrupted) {
  OtherRecorder other(plan_, place("now"));
  ASSERT_TRUE(other.began());
  const std::string copy = folder_ / "copy.db";
  for (const char* ending : {"", "-wal", "-shm"})
    std::filesystem::copy_file(path_ + ending, copy + ending);
  path_ = copy;
  EXPECT_THAT(statuses(), ElementsAre("now interrupted"));
}

TEST_F(LivingSession, ItsLockBelongsToTheFileThatALinkPointsTo) {
  OtherRecorder other(plan_, place("now"));
  ASSERT_TRUE(other.began());
  const std::string link = folder_ / "link.db";
  std::filesystem::create_symlink(path_, link);
  path_ = link;
  EXPECT_THAT(statuses(), ElementsAre("now recording"));
}

// A reader that opened the session while it was recorded keeps what it saw then.
TEST_F(LivingSession, AReaderOfAnOlderSnapshotDoesNotTakeAnEndForADeath) {
  std::unique_ptr<SessionReader> reader;
  ASSERT_TRUE(record_run(plan_, {.place = place("now"),
                                 .watch =
                                     [&](const StepRecord&, const CheckState&) {
                                       if (!reader)
                                         reader = SessionReader::open(place("now")).value();
                                     }})
                  .ok());
  SessionFile& snapshot = reader->impl().file;
  EXPECT_EQ(snapshot.find("now").value().status, SessionStatus::recording);
  ASSERT_TRUE(reader->see_new_steps().ok());
  EXPECT_EQ(reader->info().status, SessionStatus::complete);
}

TEST_F(LivingSession, ATimeIsLockedOnce) {
  ASSERT_TRUE(SessionFile::open(path_, FileAccess::create).ok());
  auto held = RecorderLock::acquire(path_, 7);
  ASSERT_TRUE(held.ok());
  EXPECT_TRUE(has_living_recorder(path_, 7));
  EXPECT_FALSE(has_living_recorder(path_, 8));
  const auto again = RecorderLock::acquire(path_, 7);
  ASSERT_FALSE(again.ok());
  EXPECT_THAT(again.error().message, HasSubstr("runs.db-lock: cannot lock it"));
  EXPECT_TRUE(has_living_recorder(path_, 7));
  held.value().release();
  EXPECT_FALSE(has_living_recorder(path_, 7));
}

// A session that is read while it is written.

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

}  // namespace hybridscope::test::living_session_test
