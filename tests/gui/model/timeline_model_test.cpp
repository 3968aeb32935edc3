#include "gui/model/timeline_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gui/model/shown_scenario.h"
#include "tests/sessions/record/plan_run.h"

namespace hybridscope::timeline_model_test {
namespace {

using test::scenario_at;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::int64_t> steps(const TimelineModel& model) {
  std::vector<std::int64_t> all;
  for (const TimelineColumn& column : model.columns) all.push_back(column.step);
  return all;
}

std::vector<std::string> texts(const TimelineModel& model, std::size_t lane) {
  std::vector<std::string> all;
  for (std::size_t column = 0; column < model.columns.size(); ++column)
    all.push_back(model.at(lane, column).is_there ? model.at(lane, column).text : "-");
  return all;
}

// B loses its blocks in step 9, waits until A has ended, and computes its prompt again.
TEST(TimelineModel, CellsTellWhatARequestDid) {
  const auto run = scenario_at("preemption_and_resume", 1'000'000);
  ASSERT_TRUE(run->go_to(12).ok());
  const TimelineModel model = make_timeline_model(*run, {.num_steps = 7});
  EXPECT_THAT(steps(model), ElementsAre(9, 10, 11, 12, 13, 14, 15));
  ASSERT_EQ(model.lanes.size(), 2u);
  EXPECT_THAT(texts(model, 0), ElementsAre("1", "1", "1", "1", "1", "-", "-"));
  EXPECT_THAT(texts(model, 1), ElementsAre("P", "w", "w", "w", "w", "4", "8"));
  EXPECT_TRUE(model.at(0, 4).activity.finished);
  EXPECT_TRUE(model.at(1, 5).activity.resumed);
  EXPECT_TRUE(model.columns[3].is_shown);
  EXPECT_FALSE(model.asynchronous);
}

// Frame 2 verifies one draft, which counts, while frame 1 returns A's first token.
TEST(TimelineModel, AsynchronouslyBothFramesOfAStepAreTold) {
  const TimelineModel model =
      make_timeline_model(*scenario_at("two_prompts_share_a_budget", 2), {.num_steps = 5});
  EXPECT_TRUE(model.asynchronous);
  ASSERT_THAT(steps(model), ElementsAre(1, 2));
  EXPECT_EQ(model.columns[1].committed_step, 1);
  EXPECT_THAT(texts(model, 0), ElementsAre("10", "1/1"));
  EXPECT_THAT(
      describe_activity(model, 0, 1),
      ElementsAre(Fact{"request", "A"}, Fact{"step", "2"},
                  Fact{"frame 2 is scheduled", "verify, 2 tokens, 1 of them drafts"},
                  Fact{"accepted", "1 of 1 drafts"}, Fact{"frame 1 returns", "1 output token"}));
}

// B comes with step 6: at step 1 the engine knows nothing of it.
TEST(TimelineModel, RequestsOfLaterStepsKeepTheirNamesWhenTheRunGoesBack) {
  const auto run = scenario_at("multi_turn_with_drafts", 1'000'000);
  ASSERT_TRUE(run->go_to(1).ok());
  const TimelineModel model = make_timeline_model(*run, {.num_steps = 1000});
  ASSERT_EQ(model.lanes.size(), 2u);
  EXPECT_EQ(model.lanes[1].name, "B");
}

TEST(TimelineModel, TheWindowStaysWithinTheKnownSteps) {
  const auto run = scenario_at("preemption_and_resume", 1'000'000);
  ASSERT_TRUE(run->go_to(1).ok());
  EXPECT_THAT(steps(make_timeline_model(*run, {.num_steps = 5})), ElementsAre(1, 2, 3, 4, 5));
  ASSERT_TRUE(run->go_to(20).ok());
  EXPECT_THAT(steps(make_timeline_model(*run, {.num_steps = 5})), ElementsAre(16, 17, 18, 19, 20));
}

// Its 3 steps are known once it has ended.
TEST(TimelineModel, ALiveRunSaysHowManyStepsAreKnownAndThatMoreCanCome) {
  const auto run = scenario_at("align_boundary_by_accepted_drafts", 2);
  const TimelineModel early = make_timeline_model(*run, {.num_steps = 21});
  EXPECT_EQ(early.known, "2 steps so far, more can come");
  EXPECT_TRUE(early.goes_on);
  ASSERT_TRUE(run->go_to(1'000'000).ok());
  const TimelineModel whole = make_timeline_model(*run, {.num_steps = 21});
  EXPECT_EQ(whole.known, "3 steps");
  EXPECT_FALSE(whole.goes_on);
}

TEST(TimelineModel, ARecordedRunReadsTheWindowAndShowsTheSame) {
  const test::TemporaryFolder folder;
  for (const char* name : {"preemption_and_resume", "two_prompts_share_a_budget", "v2_slots"}) {
    SCOPED_TRACE(name);
    const auto live = scenario_at(name, 1'000'000);
    const auto recorded = test::recorded_scenario(folder, name, RecordLevel::blocks);
    ASSERT_TRUE(recorded->go_to(1'000'000).ok());
    const TimelineModel expected = make_timeline_model(*live, {.num_steps = 100});
    TimelineModel found = make_timeline_model(*recorded, {.num_steps = 100});
    while (!found.complete) {
      ASSERT_TRUE(recorded->load_more());
      found = make_timeline_model(*recorded, {.num_steps = 100});
    }
    ASSERT_EQ(steps(found), steps(expected));
    ASSERT_EQ(found.lanes.size(), expected.lanes.size());
    for (std::size_t lane = 0; lane < expected.lanes.size(); ++lane)
      for (std::size_t column = 0; column < expected.columns.size(); ++column)
        EXPECT_EQ(found.at(lane, column).activity, expected.at(lane, column).activity);
  }
}

TEST(TimelineModel, ASessionOfCountsSaysWhatIsMissing) {
  const test::TemporaryFolder folder;
  const auto run = test::recorded_scenario(folder, "plain_decode", RecordLevel::counts);
  ASSERT_TRUE(run->go_to(2).ok());
  const TimelineModel model = make_timeline_model(*run, {.num_steps = 5});
  EXPECT_TRUE(model.lanes.empty());
  EXPECT_THAT(model.note, HasSubstr("recorded without requests"));
}

// Frame 3 in flight brings A's last token when step 4 is scheduled: A runs, it does not wait.
TEST(TimelineModel, ARequestWhoseLastTokenIsInFlightDoesNotWait) {
  const auto run = scenario_at("two_prompts_share_a_budget", 1'000'000);
  ASSERT_TRUE(run->go_to(4).ok());
  const TimelineModel model = make_timeline_model(*run, {.num_steps = 100});
  ASSERT_EQ(model.columns[3].step, 4);
  EXPECT_EQ(model.lanes[0].name, "A");
  EXPECT_EQ(model.at(0, 3).text, "f");
  EXPECT_EQ(activity_name(model.at(0, 3).activity.kind), "in flight");
}

StepActivity step_of(std::int64_t step, std::size_t num_requests) {
  StepActivity activity{.step = step, .known = true};
  activity.requests.resize(num_requests);
  return activity;
}

TEST(ActivityLog, TheOldestStepsGoWhenThereAreTooManyRequests) {
  ActivityLog log(5);
  for (std::int64_t step = 1; step <= 4; ++step) log.take(step_of(step, 2));
  EXPECT_EQ(log.find(0), nullptr);
  EXPECT_EQ(log.find(1), nullptr);
  ASSERT_NE(log.find(2), nullptr);
  EXPECT_EQ(log.find(2)->step, 3);
  EXPECT_EQ(log.find(3)->step, 4);
  EXPECT_EQ(log.find(4), nullptr);
}

TEST(ActivityLog, TheLastStepIsAlwaysKept) {
  ActivityLog log(5);
  log.take(step_of(1, 9));
  ASSERT_NE(log.find(0), nullptr);
  EXPECT_EQ(log.find(0)->requests.size(), 9u);
}

}  // namespace
}  // namespace hybridscope::timeline_model_test
