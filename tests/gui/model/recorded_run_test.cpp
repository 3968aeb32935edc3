#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/engine/batch_metadata_policies.h"
#include "gui/model/block_table_model.h"
#include "gui/model/graph_padding_model.h"
#include "gui/model/live_run.h"
#include "gui/model/open_run.h"
#include "gui/model/prefix_cache_model.h"
#include "gui/model/recorded_run.h"
#include "gui/model/state_copies_model.h"
#include "sessions/judge/trace_writer.h"
#include "sessions/live/fork.h"
#include "tests/gui/model/shown_scenario.h"
#include "tests/sessions/record/plan_run.h"
#include "tests/storage/recorded_run.h"

namespace hybridscope::recorded_run_test {
namespace {

using testing::HasSubstr;

class RecordedRunOf : public testing::Test {
 protected:
  std::unique_ptr<RecordedRun> record(const RunPlan& plan, RecordLevel level) {
    const SessionPlace place{.file = folder_ / "runs.db",
                             .name = std::string(record_level_name(level)) + plan.name};
    EXPECT_TRUE(test::record_run(plan, {.place = place, .level = level}).ok());
    auto run = RecordedRun::open(place);
    EXPECT_TRUE(run.ok());
    return std::move(run).value();
  }
  // Everything that can be known of the step.
  static BlockTableModel tables(ShownRun& run, TableSide side) {
    BlockTableModel model = make_block_table_model(run, {.side = side});
    for (int i = 0; i < 100 && !model.complete; ++i) {
      run.load_more();
      model = make_block_table_model(run, {.side = side});
    }
    return model;
  }

  test::TemporaryFolder folder_;
};

std::vector<RunPlan> shipped_plans() {
  std::vector<RunPlan> plans;
  for (const std::string& path : test::shipped_scenarios()) {
    plans.push_back(test::plan_of_file(path));
    plans.push_back(test::reference_plan_of_file(path));
    plans.back().name += " (reference)";
  }
  return plans;
}

// What releases added: entries that end inside blocks, block copies, checkpoints, kept boundaries.
// Each line: a cell that ends in a special way, a block copy, or what retention keeps.
std::vector<std::string> release_lines(ShownRun& run, const BlockTableModel& tables) {
  std::vector<std::string> lines;
  for (const BlockTableGrid& grid : tables.grids)
    for (const BlockCell& cell : grid.cells)
      if (cell.partial_tokens > 0 || cell.checkpoint > 0) lines.push_back(cell_words(cell));
  for (const StateCopyRow& row : make_state_copies_model(run, {}).rows)
    if (row.block_copy >= 0) lines.push_back(row.columns + " " + row.in_words);
  for (const char* name : {"A", "B"})
    if (const auto kept = make_retention_model(run, run.find_request(name)))
      lines.push_back(kept->words + kept->dropped);
  return lines;
}

TEST_F(RecordedRunOf, ShowsWhatReleasesAddedAtEveryLevelThatKeepsBlocks) {
  for (const RunPlan& plan : {test::hits_inside_blocks(),
                              test::plan_of_file(test::scenario_file("state_inside_a_prefill"))}) {
    SCOPED_TRACE(plan.name);
    const auto live = LiveRun::create(plan).value();
    const auto full = record(plan, RecordLevel::full);
    const auto blocks = record(plan, RecordLevel::blocks);
    std::size_t num_lines = 0;
    while (live->forward().value()) {
      SCOPED_TRACE(live->step());
      const auto expected = release_lines(*live, tables(*live, TableSide::scheduler));
      num_lines += expected.size();
      for (RecordedRun* recorded : {full.get(), blocks.get()}) {
        ASSERT_TRUE(recorded->forward().value());
        EXPECT_EQ(release_lines(*recorded, tables(*recorded, TableSide::scheduler)), expected)
            << record_level_name(recorded->level());
      }
    }
    EXPECT_GT(num_lines, 10u);
  }
}

// B's hit after 20 tokens ends inside blocks of 8, which are copied; no state is.
TEST_F(RecordedRunOf, AStepThatCopiesOnlyBlocksHasTheMarkOfCopies) {
  const auto live = LiveRun::create(test::hits_inside_blocks()).value();
  ASSERT_TRUE(live->go_to(1'000'000).ok());
  std::vector<std::int64_t> steps;
  for (const StepMark& mark : live->marks())
    if (mark.copies) steps.push_back(mark.step);
  EXPECT_THAT(steps, testing::Contains(9));
  const auto recorded = record(test::hits_inside_blocks(), RecordLevel::blocks);
  ASSERT_EQ(recorded->marks().size(), live->marks().size());
  for (std::size_t i = 0; i < live->marks().size(); ++i)
    EXPECT_EQ(recorded->marks()[i].copies, live->marks()[i].copies) << live->marks()[i].step;
}

TEST_F(RecordedRunOf, LevelCountsKeepsNothingOfThem) {
  const auto counts = record(test::hits_inside_blocks(), RecordLevel::counts);
  ASSERT_TRUE(counts->go_to(3).ok());
  EXPECT_FALSE(make_retention_model(*counts, {0}).has_value());
  EXPECT_EQ(make_state_copies_model(*counts, {}).empty,
            "The session keeps no decisions about state copies: it was recorded at level counts.");
}

TEST_F(RecordedRunOf, ShowsTheSameTablesAsTheRunItself) {
  for (const RunPlan& plan : shipped_plans()) {
    SCOPED_TRACE(plan.name);
    const auto recorded = record(plan, RecordLevel::full);
    const auto live = LiveRun::create(plan).value();
    while (live->forward().value()) {
      ASSERT_TRUE(recorded->forward().value());
      ASSERT_EQ(recorded->step(), live->step());
      for (const TableSide side : {TableSide::scheduler, TableSide::worker}) {
        const BlockTableModel expected = tables(*live, side);
        const BlockTableModel found = tables(*recorded, side);
        ASSERT_TRUE(found.complete);
        ASSERT_EQ(found.grids.size(), expected.grids.size());
        for (std::size_t g = 0; g < found.grids.size(); ++g)
          ASSERT_EQ(found.grids[g].cells, expected.grids[g].cells) << "step " << live->step();
      }
    }
    EXPECT_FALSE(recorded->forward().value());
  }
}

TEST_F(RecordedRunOf, HasTheMarksAndFindingsOfTheRun) {
  const RunPlan plan = test::plan_of_file(std::string(HYBRIDSCOPE_SOURCE_DIR) +
                                          "/scenarios/eviction_under_pressure.json");
  const auto recorded = record(plan, RecordLevel::blocks);
  const auto live = LiveRun::create(plan).value();
  ASSERT_TRUE(live->go_to(1'000'000).ok());
  ASSERT_EQ(recorded->marks().size(), live->marks().size());
  bool evicts = false;
  for (std::size_t i = 0; i < live->marks().size(); ++i) {
    EXPECT_EQ(recorded->marks()[i].step, live->marks()[i].step);
    EXPECT_EQ(recorded->marks()[i].evicts, live->marks()[i].evicts);
    EXPECT_EQ(recorded->marks()[i].copies, live->marks()[i].copies);
    evicts = evicts || live->marks()[i].evicts;
  }
  EXPECT_TRUE(evicts);
  EXPECT_EQ(recorded->findings().size(), live->findings().size());
}

TEST_F(RecordedRunOf, BelowLevelFullContentIsNotKnownAndSaidSo) {
  const RunPlan plan = test::plan_of_file(std::string(HYBRIDSCOPE_SOURCE_DIR) +
                                          "/scenarios/align_boundary_by_decode.json");
  const auto run = record(plan, RecordLevel::blocks);
  ASSERT_TRUE(run->go_to(3).ok());
  BlockTableModel model = make_block_table_model(*run, {});
  while (run->load_more()) model = make_block_table_model(*run, {});
  const BlockTableGrid& grid = model.grids.front();
  EXPECT_EQ(grid.at(0, 0).state, CellState::unknown);
  const auto facts = describe_cell(*run, {.request = grid.rows[0].request, .group = 0, .column = 0},
                                   grid.at(0, 0));
  EXPECT_THAT(facts.back().value, HasSubstr("level full only"));
}

TEST_F(RecordedRunOf, AStepThatCannotBeReadLeavesTheOneThatWasShown) {
  const auto before = record(test::shipped_scenario("preemption_and_resume"), RecordLevel::full);
  ASSERT_EQ(before->last_known_step(), 20);
  test::execute(folder_ / "runs.db",
                "UPDATE rows SET row = 7 WHERE step = 4; UPDATE rows SET row = 7 WHERE step = 20");
  const auto run = RecordedRun::open({.file = folder_ / "runs.db", .name = ""}).value();
  ASSERT_TRUE(run->go_to(3).ok());
  const std::size_t num_blocks = run->view().scheduler_tables.block_ids({0}, 0).size();
  EXPECT_FALSE(run->forward().ok());
  EXPECT_EQ(run->step(), 3);
  EXPECT_FALSE(run->go_to(20).ok());
  EXPECT_EQ(run->step(), 3);
  EXPECT_EQ(run->view().trace.step, 3);
  EXPECT_EQ(run->view().scheduler_tables.block_ids({0}, 0).size(), num_blocks);
  ASSERT_TRUE(run->go_to(5).ok());
  EXPECT_FALSE(run->back().ok());
  EXPECT_EQ(run->step(), 5);
}

TEST_F(RecordedRunOf, BlocksThatCannotBeReadAreNotKnownAndThatIsToldOnce) {
  const auto whole = record(test::shipped_scenario("preemption_and_resume"), RecordLevel::full);
  ASSERT_TRUE(whole->go_to(5).ok());
  ASSERT_TRUE(whole->block_facts(2).label_known);
  ASSERT_TRUE(whole->block_facts(2).writes_known);
  EXPECT_EQ(whole->take_trouble(), "");

  test::execute(folder_ / "runs.db", "UPDATE write_events SET block = 4000 WHERE step = 4");
  const auto run = RecordedRun::open({.file = folder_ / "runs.db", .name = ""}).value();
  ASSERT_TRUE(run->go_to(5).ok());
  EXPECT_FALSE(run->block_facts(2).label_known);
  EXPECT_FALSE(run->block_facts(2).writes_known);
  EXPECT_THAT(run->take_trouble(), HasSubstr("step 4: write_events.block: 4000, expected 0 to"));
  ASSERT_TRUE(run->go_to(6).ok());
  EXPECT_FALSE(run->block_facts(2).writes_known);
  EXPECT_EQ(run->take_trouble(), "");
}

TEST_F(RecordedRunOf, RequestsThatCannotBeReadAreNotKnownAndThatIsToldOnce) {
  (void)record(test::shipped_scenario("preemption_and_resume"), RecordLevel::blocks);
  test::execute(folder_ / "runs.db", "UPDATE commits SET request = 99 WHERE finished = 1");
  const auto run = RecordedRun::open({.file = folder_ / "runs.db", .name = ""}).value();
  ASSERT_TRUE(run->go_to(5).ok());
  EXPECT_TRUE(run->unfinished().empty());
  EXPECT_EQ(run->num_hit_tokens({0}), -1);
  EXPECT_THAT(run->take_trouble(), HasSubstr("request 99, expected 0 to"));
  EXPECT_TRUE(run->unfinished().empty());
  EXPECT_EQ(run->take_trouble(), "");
}

// What is asked of a run that is made again beside its recording, when nothing is left to make.
std::optional<std::vector<std::int32_t>> free_queue_at(RecordedRun& run, std::int64_t step) {
  EXPECT_TRUE(run.go_to(step).ok());
  for (int i = 0; i < 100; ++i) {
    (void)run.free_queue();
    if (!run.load_more() && !run.awaits_more()) break;
  }
  return run.free_queue();
}

TEST_F(RecordedRunOf, TheFreeQueueIsKnownAsFarAsTheRunIsMadeAgainAsItWasRecorded) {
  const auto live = LiveRun::create(test::shipped_scenario("preemption_and_resume")).value();
  (void)record(test::shipped_scenario("preemption_and_resume"), RecordLevel::blocks);
  // As if the program that recorded it had decided otherwise in step 5.
  test::execute(folder_ / "runs.db", "UPDATE digests SET schedule = 1 WHERE step = 5");
  const auto run = RecordedRun::open({.file = folder_ / "runs.db", .name = ""}).value();
  ASSERT_TRUE(live->go_to(4).ok());
  EXPECT_EQ(free_queue_at(*run, 4), live->free_queue());
  EXPECT_EQ(free_queue_at(*run, 5), std::nullopt);
  EXPECT_EQ(free_queue_at(*run, 20), std::nullopt);
  EXPECT_EQ(run->cache_report(), nullptr);
  EXPECT_EQ(free_queue_at(*run, 4), live->free_queue());
}

TEST_F(RecordedRunOf, NothingIsMadeAgainBesideARecordingWithOtherDigests) {
  (void)record(test::shipped_scenario("plain_decode"), RecordLevel::full);
  test::execute(folder_ / "runs.db", "UPDATE sessions SET digest_version = 1");
  const auto run = RecordedRun::open({.file = folder_ / "runs.db", .name = ""}).value();
  EXPECT_EQ(free_queue_at(*run, 2), std::nullopt);
  EXPECT_TRUE(run->conv_tokens(1).empty());
}

TEST_F(RecordedRunOf, TheConfigIsTheOneInForceDuringTheStep) {
  RunPlan plan = test::shipped_scenario("preemption_and_resume");
  ForkAt at;
  at.step = 5;
  at.changes.policies.set(RowClassing::by_shape);
  plan = fork_plan(plan, at).value();
  const auto live = LiveRun::create(plan).value();
  const auto recorded = record(plan, RecordLevel::counts);
  for (const std::int64_t step : {4, 5, 8, 4}) {
    ASSERT_TRUE(live->go_to(step).ok());
    ASSERT_TRUE(recorded->go_to(step).ok());
    EXPECT_EQ(recorded->view().config.policies.get<RowClassing>(),
              step < 5 ? RowClassing::by_meaning : RowClassing::by_shape);
    EXPECT_EQ(recorded->view().config.policies, live->view().config.policies);
  }
}

TEST_F(RecordedRunOf, APlanThatCannotBeReadIsSaidToBeThat) {
  (void)record(test::shipped_scenario("plain_decode"), RecordLevel::full);
  test::execute(folder_ / "runs.db",
                "UPDATE sessions SET plan = replace(plan, '\"max_tokens\"', '\"max_tokenz\"')");
  const auto run = RecordedRun::open({.file = folder_ / "runs.db", .name = ""}).value();
  EXPECT_EQ(run->plan(), nullptr);
  EXPECT_THAT(run->why_no_plan(), HasSubstr("key \"max_tokens\" is missing"));
}

TEST_F(RecordedRunOf, AFileThatIsNoSessionIsRefusedByItsName) {
  const auto run = RecordedRun::open({.file = folder_ / "none.db", .name = ""});
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(run.error().message, HasSubstr("none.db"));
}

const std::string kScenario =
    std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/align_boundary_by_accepted_drafts.json";

// The trace of the scenario's run.
std::string trace_of_scenario() {
  const auto live = LiveRun::create(test::plan_of_file(kScenario)).value();
  const Engine& engine = live->player().run().engine();
  TraceWriter writer(live->config(), {.name = live->names().request,
                                      .token = [&](RequestId request, std::int32_t position) {
                                        return engine.token(request, position);
                                      }});
  std::string text = writer.header("engine") + "\n";
  while (live->forward().value()) text += writer.step(live->view().trace) + "\n";
  return text;
}

class OpenRun : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  test::TemporaryFolder folder_;
};

TEST_F(OpenRun, AScenarioRunsLive) {
  const auto run = open_run(kScenario);
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run.value()->title(), "align boundary by accepted drafts");
  EXPECT_FALSE(run.value()->is_whole());
  EXPECT_NE(run.value()->plan(), nullptr);
}

TEST_F(OpenRun, TrafficRunsLiveByTheDefaultSettings) {
  const std::string file = write("few.jsonl",
                                 "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 3, "
                                 "\"hash_ids\": [0, 1]}\n"
                                 "{\"timestamp\": 0, \"input_length\": 512, \"output_length\": 3, "
                                 "\"hash_ids\": [0]}\n");
  const auto run = open_run(file);
  ASSERT_TRUE(run.ok()) << run.error().message;
  ASSERT_NE(run.value()->plan(), nullptr);
  EXPECT_EQ(run.value()->plan()->requests.size(), 2u);
  EXPECT_EQ(run.value()->plan()->setup.layout.model.name, "qwen3-next-80b-a3b");
}

TEST_F(OpenRun, TrafficOfEveryFormatIsRecognisedWhateverItsName) {
  const auto chat = open_run(write(
      "chat.json",
      R"([{"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]}])"));
  ASSERT_TRUE(chat.ok()) << chat.error().message;
  EXPECT_EQ(chat.value()->plan()->requests.size(), 1U);
  const auto burst =
      open_run(write("b.csv", "Timestamp,Request tokens,Response tokens\n5,10,2\n6,20,3\n"));
  ASSERT_TRUE(burst.ok()) << burst.error().message;
  EXPECT_EQ(burst.value()->plan()->requests.size(), 2U);
}

TEST_F(OpenRun, ATraceIsJudgedAndShownLikeASession) {
  const std::string text = trace_of_scenario();
  const auto run = open_run(write("engine.jsonl", text));
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_THAT(run.value()->title(), HasSubstr("engine.jsonl"));
  EXPECT_THAT(run.value()->speech().why, HasSubstr("hybridscope judge TRACE --weights DIR"));
  EXPECT_TRUE(run.value()->is_whole());
  EXPECT_EQ(run.value()->plan(), nullptr);
  ASSERT_TRUE(run.value()->forward().value());
  EXPECT_EQ(run.value()->view().trace.rows.size(), 1u);
  EXPECT_EQ(no_lookups_words(*run.value()), "The trace has no prefix cache lookups.");
  EXPECT_THAT(make_graph_padding_model(*run.value()).words, HasSubstr("does not say why"));
}

TEST_F(OpenRun, OfSeveralTracesTheFirstIsShown) {
  const std::string text = trace_of_scenario();
  const auto one = open_run(write("one.jsonl", text));
  const auto two = open_run(write("two.jsonl", text + text));
  ASSERT_TRUE(two.ok()) << two.error().message;
  EXPECT_THAT(two.value()->title(), HasSubstr("two.jsonl (the first trace of several)"));
  EXPECT_EQ(two.value()->last_known_step(), one.value()->last_known_step());
}

TEST_F(OpenRun, WhatCannotBeReadIsNamed) {
  EXPECT_THAT(open_run(folder_ / "none.json").error().message, HasSubstr("none.json"));
  EXPECT_THAT(open_run(write("bad.json", "{")).error().message, HasSubstr("bad.json"));
  EXPECT_THAT(open_run(write("bad.jsonl", "{}\n")).error().message, HasSubstr("bad.jsonl:1"));
  EXPECT_THAT(open_run(write("empty.jsonl", "")).error().message, HasSubstr("no trace is in it"));
  EXPECT_THAT(open_run(write("no.db", "text")).error().message, HasSubstr("no.db"));
}

}  // namespace

}  // namespace hybridscope::recorded_run_test
