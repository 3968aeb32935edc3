#include "gui/model/requests_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  const RequestsModel up = make_requests_model(*run, {.sort = RequestColumn::computed});
  EXPECT_THAT(names(up), ElementsAre("A", "C", "B"));
  const RequestsModel down =
      make_requests_model(*run, {.sort = RequestColumn::computed, .descending = true});
  EXPECT_THAT(names(down), ElementsAre("B", "C", "A"));
}

TEST(RequestsModel, TheSameColumnAgainTurnsTheOrderAround) {
  Workbench workbench;
  ASSERT_TRUE(workbench.apply({"requests.sort", "blocks"}).ok());
  EXPECT_EQ(workbench.options().requests.sort, RequestColumn::blocks);
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

}  // namespace
}  // namespace hybridscope::requests_model_test
