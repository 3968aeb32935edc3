#include "sessions/run/drive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "sessions/run/checked_run.h"
#include "sessions/scenario/scenario_reader.h"

namespace hybridscope::drive_test {
namespace {

using testing::ElementsAre;

// Steps 1 to 6.
CheckedRun six_steps() {
  const Scenario scenario =
      read_scenario_file(HYBRIDSCOPE_SOURCE_DIR "/scenarios/align_boundary_by_decode.json").value();
  return CheckedRun::create(plan_scenario(scenario, "align_boundary_by_decode.json").value(),
                            {.max_steps = 6})
      .value();
}

class Drive : public testing::Test {
 protected:
  // Notes each step as "NAME STEP", then does as `does` says.
  template <class Does>
  auto noting(const std::string& name, Does does) {
    return SinkOf([this, name, does](const CheckedStep& step) {
      seen_.push_back(name + " " + std::to_string(step.trace.step));
      return does(step.trace.step);
    });
  }
  auto noting(const std::string& name) {
    return noting(name, [](std::int64_t) { return Going::on; });
  }

  CheckedRun run_ = six_steps();
  std::vector<std::string> seen_;
};

TEST_F(Drive, EachStepReachesAllSinksInTheirOrder) {
  auto a = noting("a");
  auto b = noting("b");
  StepSink* const sinks[] = {&a, &b};
  EXPECT_EQ(drive(run_, sinks).value(), Going::on);
  EXPECT_EQ(run_.num_steps(), 6);
  EXPECT_EQ(seen_.size(), 12u);
  seen_.resize(4);
  EXPECT_THAT(seen_, ElementsAre("a 1", "b 1", "a 2", "b 2"));
}

TEST_F(Drive, ASinkThatWantsNoMoreEndsItBehindThatStep) {
  auto a = noting("a", [](std::int64_t step) { return step < 2 ? Going::on : Going::stop; });
  auto b = noting("b");
  StepSink* const sinks[] = {&a, &b};
  EXPECT_EQ(drive(run_, sinks).value(), Going::stop);
  EXPECT_THAT(seen_, ElementsAre("a 1", "b 1", "a 2", "b 2"));
}

TEST_F(Drive, GoesOnWhereItStopped) {
  auto two = noting("a", [](std::int64_t step) { return step < 2 ? Going::on : Going::stop; });
  StepSink* const first[] = {&two};
  EXPECT_EQ(drive(run_, first).value(), Going::stop);
  auto rest = noting("b");
  StepSink* const then[] = {&rest};
  EXPECT_EQ(drive(run_, then).value(), Going::on);
  EXPECT_THAT(seen_, ElementsAre("a 1", "a 2", "b 3", "b 4", "b 5", "b 6"));
}

TEST_F(Drive, AsksBeforeEachStepWhetherToStop) {
  const auto driven = drive(
      run_, [this](const CheckedStep& step) { seen_.push_back(std::to_string(step.trace.step)); },
      [this] { return seen_.size() == 3; });
  EXPECT_EQ(driven.value(), Going::stop);
  EXPECT_THAT(seen_, ElementsAre("1", "2", "3"));
}

TEST_F(Drive, AStepThatASinkRefusedReachesNoneBehindIt) {
  SinkOf refusing([](const CheckedStep& step) {
    return step.trace.step == 2 ? Status(invalid_input("the disk is full")) : Status(Ok{});
  });
  auto behind = noting("b");
  StepSink* const sinks[] = {&refusing, &behind};
  const auto driven = drive(run_, sinks);
  EXPECT_EQ(driven.error().message, "the disk is full");
  EXPECT_EQ(driven.refused_by, &refusing);
  EXPECT_THAT(seen_, ElementsAre("b 1"));
}

TEST_F(Drive, WritesAreThereWhenOneSinkWantsThem) {
  std::size_t num_writes = 0;
  SinkOf counting([&](const CheckedStep& step) { num_writes += step.writes.size(); });
  SinkOf wanting([](const CheckedStep&) { return Going::stop; }, true);
  StepSink* const sinks[] = {&counting};
  EXPECT_EQ(drive(run_, sinks).value(), Going::on);
  EXPECT_EQ(num_writes, 0u);
  run_ = six_steps();
  StepSink* const both[] = {&counting, &wanting};
  EXPECT_EQ(drive(run_, both).value(), Going::stop);
  EXPECT_GT(num_writes, 0u);
}

// A trace of two steps: that it has no more shows only when a third one is asked for.
class TwoSteps final : public JudgedSteps {
 public:
  void log_writes() override {}
  bool has_ended() const override { return false; }
  Result<std::optional<CheckedStep>> next() override {
    if (trace_.step == 2) return std::optional<CheckedStep>();
    ++trace_.step;
    return std::optional(CheckedStep{.trace = trace_, .findings = {}, .writes = {}});
  }

 private:
  StepTrace trace_ = {};
};

TEST_F(Drive, StepsOfATraceEndWhereNoneComes) {
  TwoSteps trace;
  auto a = noting("a");
  StepSink* const sinks[] = {&a};
  EXPECT_EQ(drive(trace, sinks).value(), Going::on);
  EXPECT_THAT(seen_, ElementsAre("a 1", "a 2"));
}

}  // namespace
}  // namespace hybridscope::drive_test
