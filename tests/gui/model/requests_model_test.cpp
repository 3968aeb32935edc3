// Requests as the table and as the timeline show them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/model/requests_model.h"
#include "gui/model/timeline_model.h"
#include "gui/model/workbench.h"
#include "tests/gui/model/shown_scenario.h"
#include "tests/sessions/record/plan_run.h"
#include "tests/storage/recorded_run.h"

namespace hybridscope::requests_model_test {
namespace {

using test::scenario_at;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names(const RequestsModel& model) {
  std::vector<std::string> all;
  for (const RequestRow& row : model.rows) all.push_back(row.name);
  return all;
}

// A decodes token 13 of 6 + 12 and holds 1 5 9 6 and 10 8; B has lost its blocks.
TEST(RequestsModel, NumbersAreThoseOfTheStep) {
  const RequestsModel model = make_requests_model(*scenario_at("preemption_and_resume", 9), {});
  ASSERT_THAT(names(model), ElementsAre("A", "B"));
  const RequestRow& a = model.rows[0];
  EXPECT_EQ(a.state, RequestState::scheduled);
  EXPECT_EQ(a.num_prompt_tokens, 6);
  EXPECT_EQ(a.num_computed_tokens, 13);
  EXPECT_EQ(a.num_scheduled_tokens, 1);
  EXPECT_EQ(a.num_generated, 8);
  EXPECT_EQ(a.num_blocks, 6);
  EXPECT_EQ(a.num_preemptions, 0);
  EXPECT_EQ(a.num_hit_tokens, 0);
  EXPECT_EQ(model.rows[1].state, RequestState::preempted);
  EXPECT_EQ(model.rows[1].num_blocks, 0);
}

TEST(RequestsModel, AWaitingRequestSaysWhyItWaits) {
  const RequestsModel model = make_requests_model(*scenario_at("preemption_and_resume", 10), {});
  ASSERT_EQ(model.rows.size(), 2u);
  EXPECT_EQ(model.rows[1].state, RequestState::waiting);
  EXPECT_THAT(model.rows[1].state_note, HasSubstr("blocks were refused"));
}

// B was preempted in step 9 with 6 of its tokens computed, and waits; live and recorded alike.
TEST(RequestsModel, ASkippedRequestHasAllItsNumbers) {
  const auto run = scenario_at("preemption_and_resume", 8);
  const RequestRow before = make_requests_model(*run, {}).rows.at(1);
  ASSERT_TRUE(run->go_to(10).ok());
  const RequestRow waits = make_requests_model(*run, {}).rows.at(1);
  EXPECT_EQ(waits.state, RequestState::waiting);
  EXPECT_EQ(waits.num_prompt_tokens, before.num_prompt_tokens);
  EXPECT_EQ(waits.num_computed_tokens, 0) << "its blocks are gone";
  EXPECT_EQ(waits.num_scheduled_tokens, 0);
  EXPECT_EQ(waits.num_preemptions, 1);
  EXPECT_GE(waits.num_generated, before.num_generated);
  EXPECT_EQ(waits.num_draft_tokens, -1);
}

TEST(RequestsModel, ARequestThatWasNeverScheduledHasThoseOfThePlan) {
  const auto run = LiveRun::create(test::plan_of_text(R"({
    "version": 1, "name": "queue", "model": "tiny-mamba2",
    "settings": {"mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 32,
                 "max_model_len": 64, "max_num_seqs": 1},
    "requests": [{"id": "A", "prompt": 5, "max_tokens": 4},
                 {"id": "B", "prompt": 7, "max_tokens": 4}]})"))
                       .value();
  ASSERT_TRUE(run->go_to(1).ok());
  const RequestRow b = make_requests_model(*run, {}).rows.at(1);
  EXPECT_EQ(b.num_prompt_tokens, 7);
  EXPECT_EQ(b.num_computed_tokens, 0);
  EXPECT_EQ(b.num_generated, 0);
  EXPECT_EQ(b.num_preemptions, 0);
}

// B is served 16 tokens and C 8, in the step that admits them.
TEST(RequestsModel, HitsAreThoseOfTheLastAdmission) {
  const RequestsModel model = make_requests_model(*scenario_at("shared_prefix_all", 3), {});
  ASSERT_THAT(names(model), ElementsAre("A", "B", "C"));
  EXPECT_EQ(model.rows[0].num_hit_tokens, 0);
  EXPECT_EQ(model.rows[1].num_hit_tokens, 16);
  EXPECT_EQ(model.rows[2].num_hit_tokens, 8);
  EXPECT_EQ(model.rows[1].state_note, "new");
  const RequestsModel later = make_requests_model(*scenario_at("shared_prefix_all", 4), {});
  ASSERT_THAT(names(later), ElementsAre("A", "B", "C"));
  EXPECT_EQ(later.rows[1].num_hit_tokens, 16);
  EXPECT_EQ(later.rows[1].state_note, "");
}

// Three requests come at once and one may run: the others wait, also those that the step does not
// name.
TEST(RequestsModel, EveryWaitingRequestIsListed) {
  const auto run = LiveRun::create(test::plan_of_text(R"({
    "version": 1, "name": "queue", "model": "tiny-mamba2",
    "settings": {"mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 32,
                 "max_model_len": 64, "max_num_seqs": 1},
    "requests": [{"id": "A", "prompt": 5, "max_tokens": 4},
                 {"id": "B", "prompt": 5, "max_tokens": 4},
                 {"id": "C", "prompt": 5, "max_tokens": 4}]})"))
                       .value();
  ASSERT_TRUE(run->go_to(2).ok());
  const RequestsModel model = make_requests_model(*run, {});
  ASSERT_THAT(names(model), ElementsAre("A", "B", "C"));
  EXPECT_EQ(model.rows[1].state, RequestState::waiting);
  EXPECT_EQ(model.rows[2].state, RequestState::waiting);
  EXPECT_EQ(listed_words(model), "3 listed, 2 in the waiting queue");
}

TEST(RequestsModel, FinishedRequestsAreNotToldOfLater) {
  const RequestsModel at_end = make_requests_model(*scenario_at("preemption_and_resume", 13), {});
  EXPECT_EQ(at_end.rows.at(0).state, RequestState::finished);
  const RequestsModel later = make_requests_model(*scenario_at("preemption_and_resume", 14), {});
  EXPECT_THAT(names(later), ElementsAre("B"));
  EXPECT_EQ(later.num_others, 1);
  EXPECT_EQ(later.rows[0].state_note, "resumed");
  EXPECT_EQ(later.rows[0].num_preemptions, 1);
}

TEST(RequestsModel, RowsAreSortedByAColumn) {
  const auto run = scenario_at("graph_padding", 3);  // computed 7, 9, 8 and a token in flight
  const RequestsModel up = make_requests_model(*run, {.sort = "computed"});
  EXPECT_THAT(names(up), ElementsAre("A", "C", "B"));
  const RequestsModel down = make_requests_model(*run, {.sort = "computed", .descending = true});
  EXPECT_THAT(names(down), ElementsAre("B", "C", "A"));
}

TEST(RequestsModel, TheSameColumnAgainTurnsTheOrderAround) {
  Workbench workbench;
  ASSERT_TRUE(workbench.apply({"requests.sort", "blocks"}).ok());
  EXPECT_EQ(workbench.options().requests.sort, "blocks");
  EXPECT_FALSE(workbench.options().requests.descending);
  ASSERT_TRUE(workbench.apply({"requests.sort", "blocks"}).ok());
  EXPECT_TRUE(workbench.options().requests.descending);
  const Status refused = workbench.apply({"requests.sort", "size"});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("found \"size\""));
}

// A was admitted in step 1, B and C, which share 16 and 8 tokens with it, in step 3; C's state
// after 8 is not kept.
TEST(RequestsModel, ASessionHasTheHitsOfEarlierSteps) {
  const test::TemporaryFolder folder;
  const auto run = test::recorded_scenario(folder, "shared_prefix_align", RecordLevel::full);
  ASSERT_TRUE(run->go_to(4).ok());
  (void)make_requests_model(*run, {});
  while (run->load_more()) (void)make_requests_model(*run, {});
  const RequestsModel model = make_requests_model(*run, {});
  ASSERT_EQ(model.rows.size(), 3u);
  EXPECT_EQ(model.rows[0].num_hit_tokens, 0);
  EXPECT_EQ(model.rows[1].num_hit_tokens, 16);
  EXPECT_EQ(model.rows[2].num_hit_tokens, 0);
}

// Frames of requests that were aborted or preempted return after these have left: none is running
// without a block.
TEST(RequestsModel, NobodyRunsWithoutBlocksInAnyStepOfAnyScenarioLiveOrRecorded) {
  int num_returned = 0;
  for (const std::string& path : test::shipped_scenarios()) {
    SCOPED_TRACE(path);
    const test::TemporaryFolder folder;
    const SessionPlace place{.file = folder / "runs.db", .name = "run"};
    const RunPlan plan = test::plan_of_file(path);
    ASSERT_TRUE(test::record_run(plan, {.place = place}).ok());
    const auto live = LiveRun::create(plan).value();
    const auto recorded = RecordedRun::open(place).value();
    for (ShownRun* run :
         {static_cast<ShownRun*>(live.get()), static_cast<ShownRun*>(recorded.get())})
      while (run->forward().value()) {
        for (const CommitTrace& commit : run->view().trace.committed)
          num_returned += commit.outcome == CommitOutcome::left_the_engine ||
                                  commit.outcome == CommitOutcome::preempted
                              ? 1
                              : 0;
        for (const RequestRow& row : make_requests_model(*run, {}).rows)
          EXPECT_TRUE(row.state != RequestState::running || row.num_blocks > 0)
              << row.name << " in step " << run->step();
      }
  }
  EXPECT_GT(num_returned, 0);
}

// A is aborted in step 3, when its frame 2 is in flight; step 3 only has B.
TEST(RequestsModel, ARequestThatHasLeftIsNotListedWhenItsFrameReturns) {
  const auto run = LiveRun::create(test::plan_of_text(R"({
    "version": 1, "name": "abort", "model": "tiny-mamba2",
    "settings": {"mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 32,
                 "max_model_len": 64},
    "requests": [{"id": "A", "prompt": 5, "max_tokens": 9},
                 {"id": "B", "prompt": 5, "max_tokens": 9}],
    "script": [{"step": 3, "abort": ["A"]}]})"))
                       .value();
  ASSERT_TRUE(run->go_to(3).ok());
  ASSERT_EQ(run->view().trace.committed.size(), 2u);
  EXPECT_EQ(run->view().trace.committed[0].outcome, CommitOutcome::left_the_engine);
  EXPECT_THAT(names(make_requests_model(*run, {})), ElementsAre("B"));
}

TEST(RequestsModel, OneOtherRequestIsNotTwo) {
  RequestsModel model;
  model.num_others = 1;
  EXPECT_EQ(listed_words(model), "0 listed; 1 other has no part in this step");
  model.num_others = 2;
  EXPECT_EQ(listed_words(model), "0 listed; 2 others have no part in this step");
}

// B has lost its blocks in step 9; a click on a heading sorts by its column.
TEST(RequestsPicture, ARowSelectsItsRequestAndAHeadingSorts) {
  Workbench workbench(test::panels_named({"requests"}));
  workbench.open(scenario_at("preemption_and_resume", 9));
  workbench.select({.request_name = "A"});
  const Table table = requests_picture(workbench).tables.at(0);
  EXPECT_EQ(table.note, "2 listed, 1 in the waiting queue");
  EXPECT_EQ(table.sort_command, "requests.sort");
  EXPECT_EQ(table.headings[7].title, "Blocks");
  EXPECT_EQ(table.headings[7].sort, "blocks");
  const TableRow& b = table.rows.at(1);
  EXPECT_EQ(b.mark, "request B");
  EXPECT_EQ(b.clicks.at(0).command, "select.request");
  EXPECT_EQ(b.clicks.at(0).argument, "B");
  EXPECT_EQ(shown_words(b.cells[1]), "preempted");
  EXPECT_EQ(b.cells[1].tone, Tone::warning);
  EXPECT_EQ(shown_words(b.cells[9]), "") << "it has no drafts";
  EXPECT_TRUE(table.rows.at(0).is_selected);
  EXPECT_FALSE(b.is_selected);
}

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
}  // namespace hybridscope::requests_model_test
