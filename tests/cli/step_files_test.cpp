#include "sessions/job/step_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "sessions/record/session_plan.h"
#include "sessions/run/checked_run.h"
#include "sessions/scenario/scenario_reader.h"
#include "storage/session_reader.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::test::step_files_test {
namespace {

class StepFilesOfARun : public testing::Test {
 protected:
  Result<StepFiles> begin(const StepFileOptions& options) {
    const auto header = [&] {
      ++num_headers_;
      return run_header(run_.plan(), CheckScope::step);
    };
    return StepFiles::begin(
        options,
        {.header = header, .names = names_, .engine = &run_.engine(), .plan = &run_.plan()});
  }
  Driven drive_into(StepFiles& files) {
    StepSink* const sinks[] = {&files};
    return drive(run_, sinks);
  }

  TemporaryFolder folder_;
  CheckedRun run_ = [] {  // six steps
    const std::string file = "align_boundary_by_decode.json";
    const Scenario scenario =
        read_scenario_file(HYBRIDSCOPE_SOURCE_DIR "/scenarios/" + file).value();
    return CheckedRun::create(plan_scenario(scenario, file).value(), {.max_steps = 6}).value();
  }();
  Names names_ = make_names(run_.engine());
  int num_headers_ = 0;  // that were made
};

TEST_F(StepFilesOfARun, EachThatIsAskedForHasAllSteps) {
  StepFiles files =
      begin({.record = {.place = folder_ / "runs.db:six"}, .trace = folder_ / "six.jsonl"}).value();
  EXPECT_EQ(drive_into(files).value(), Going::on);
  ASSERT_TRUE(files.finish({}).ok());
  const std::string trace = folder_.read("six.jsonl");
  EXPECT_EQ(std::ranges::count(trace, '\n'), 1 + 6);  // a header
  const auto session = SessionReader::open({.file = folder_ / "runs.db", .name = "six"}).value();
  EXPECT_EQ(session->last_step(), 6);
}

TEST_F(StepFilesOfARun, WritesAreWantedForASessionOfLevelFull) {
  const auto wants_writes = [&](RecordLevel level) {
    return begin({.record = {.place = folder_ / "runs.db", .level = level}}).value().wants_writes();
  };
  EXPECT_FALSE(wants_writes(RecordLevel::blocks));
  EXPECT_TRUE(wants_writes(RecordLevel::full));
  EXPECT_FALSE(begin({.trace = folder_ / "a.jsonl"}).value().wants_writes());
}

// It holds the whole plan, which takes long for traffic.
TEST_F(StepFilesOfARun, AHeaderIsMadeForASessionOnly) {
  ASSERT_TRUE(begin({.trace = folder_ / "a.jsonl"}).ok());
  EXPECT_EQ(num_headers_, 0);
  ASSERT_TRUE(begin({.record = {.place = folder_ / "runs.db"}}).ok());
  EXPECT_EQ(num_headers_, 1);
}

TEST_F(StepFilesOfARun, NoneIsASinkThatTakesEverything) {
  StepFiles files = begin({}).value();
  EXPECT_EQ(drive_into(files).value(), Going::on);
  EXPECT_TRUE(files.finish({.status = SessionStatus::stopped, .reason = "as asked"}).ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(StepFilesOfARun, OneThatCannotBeWrittenIsToldInTheEnd) {
  StepFiles files = begin({.trace = "/dev/full"}).value();
  EXPECT_EQ(drive_into(files).value(), Going::on);  // six steps fit the buffer
  const Status finished = files.finish({});
  ASSERT_FALSE(finished.ok());
  EXPECT_THAT(finished.error().message, testing::HasSubstr("/dev/full"));
}

}  // namespace
}  // namespace hybridscope::test::step_files_test
