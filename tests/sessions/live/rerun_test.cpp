#include "sessions/live/rerun.h"

#include <gmock/gmock.h>

#include "tests/sessions/live/stamp_list.h"

namespace hybridscope::rerun_test {
namespace {

using test::DigestedStep;
using test::StampList;
using testing::ElementsAre;

// A step whose sections all hold `digest`.
DigestedStep step_of(std::int64_t step, std::uint64_t digest) {
  DigestedStep made{.step = step, .digests = {}};
  made.digests.of.fill(digest);
  return made;
}

RerunReport report_of(const std::vector<DigestedStep>& again,
                      const std::vector<DigestedStep>& recorded,
                      RecordedEnd end = RecordedEnd::of_the_run) {
  StampList made(again);
  StampList stored(recorded);
  return rerun(made, stored, end).value();
}

TEST(Rerun, EqualStepsReproduce) {
  const std::vector<DigestedStep> steps = {step_of(1, 7), step_of(900, 8)};
  const RerunReport report = report_of(steps, steps);
  EXPECT_TRUE(report.reproduces());
  EXPECT_EQ(report.num_equal, 2);
}

TEST(Rerun, TheFirstDifferentStepTellsItsSections) {
  std::vector<DigestedStep> again = {step_of(1, 7), step_of(2, 8), step_of(3, 9)};
  again[1].digests[StepSection::graph] = 1;
  again[1].digests[StepSection::rows] = 1;
  again[1].digests[StepSection::blocks] = 1;
  const RerunReport report = report_of(again, {step_of(1, 7), step_of(2, 8), step_of(3, 1)});
  EXPECT_FALSE(report.reproduces());
  EXPECT_EQ(report.num_equal, 1);
  EXPECT_EQ(report.num_different, 2);
  EXPECT_EQ(report.first_different, 2);
  EXPECT_THAT(report.sections,
              ElementsAre(StepSection::blocks, StepSection::rows, StepSection::graph));
  EXPECT_EQ(section_list(report.sections), "blocks, rows and graph");
}

TEST(Rerun, StepsThatOneSideLacksAreCounted) {
  const RerunReport report =
      report_of({step_of(1, 7), step_of(3, 7), step_of(6, 7), step_of(7, 7)},
                {step_of(1, 7), step_of(2, 7), step_of(5, 7), step_of(6, 7)});
  EXPECT_EQ(report.num_equal, 2);
  EXPECT_EQ(report.num_missing, 2);
  EXPECT_EQ(report.first_missing, 2);
  EXPECT_EQ(report.num_extra, 2);
  EXPECT_EQ(report.first_extra, 3);
  EXPECT_FALSE(report.reproduces());
}

TEST(Rerun, ARecordingThatEndsBeforeItsRunIsHeldAgainstAsManySteps) {
  const std::vector<DigestedStep> again = {step_of(1, 7), step_of(2, 7), step_of(3, 7)};
  EXPECT_TRUE(report_of(again, {step_of(1, 7)}, RecordedEnd::before_it).reproduces());
  EXPECT_EQ(report_of(again, {step_of(1, 7)}).num_extra, 2);
}

TEST(Rerun, ARecordingWithOtherDigestsSaysNothing) {
  StampList made({step_of(1, 7)});
  StampList stored({step_of(1, 7)}, 1);
  const auto report = rerun(made, stored, RecordedEnd::of_the_run);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().kind, ErrorKind::not_available);
  EXPECT_EQ(report.error().message,
            "run.db:before was recorded with other digests (version 1, this program makes 2): its "
            "steps cannot be compared with those made now");
}

}  // namespace
}  // namespace hybridscope::rerun_test
