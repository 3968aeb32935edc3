#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sessions/live/live_player.h"
#include "sessions/live/write_log.h"
#include "sessions/record/step_digests.h"
#include "sessions/traffic/traffic_load.h"
#include "tests/sessions/record/plan_run.h"

namespace hybridscope::live_player_test {
namespace {

using test::DigestedStep;
using test::digests_of;
using test::plan_of_file;
using test::plan_of_text;
using testing::HasSubstr;

// What the player shows of the step it is at.
DigestedStep shown(const LivePlayer& player) {
  StepDigester digester([&](RequestId id) { return player.run().engine().name_of(id); });
  return {player.number(), digester.digest(player.trace(), player.findings())};
}

RunPlan traffic_plan(bool async_scheduling) {
  EngineSettings settings;
  settings.num_speculative_tokens = 2;
  settings.num_gpu_blocks_override = 256;
  settings.max_num_seqs = 8;
  settings.max_model_len = 512;
  settings.async_scheduling = async_scheduling;
  return plan_traffic(make_synthetic_traffic({.seed = 3,
                                              .num_conversations = 16,
                                              .num_system_prompts = 2,
                                              .turns = {1, 3},
                                              .system_tokens = {20, 60},
                                              .user_tokens = {4, 30},
                                              .output_tokens = {20, 60}})
                          .value(),
                      {.name = "synthetic", .model = "tiny-gdn", .settings = settings})
      .value();
}

TEST(LivePlayer, GoesForwardAsARunDoes) {
  const RunPlan plan = traffic_plan(true);
  const auto steps = digests_of(plan);
  const auto player = LivePlayer::create(plan, {}).value();
  EXPECT_EQ(player->number(), 0);
  for (const DigestedStep& step : steps) {
    ASSERT_TRUE(player->step().ok());
    ASSERT_EQ(shown(*player), step);
  }
  EXPECT_TRUE(player->done());
  EXPECT_THAT(player->step().error().message, HasSubstr("the run ends with step"));
}

TEST(LivePlayer, BeginsAFarWayAtTheSnapshotBeforeIt) {
  const RunPlan plan = traffic_plan(true);
  LivePlayer::Options options;
  options.spacing = 8;
  const auto player = LivePlayer::create(plan, std::move(options)).value();
  ASSERT_TRUE(player->go_to(30).ok());
  EXPECT_EQ(player->num_steps_to(30), 0);
  EXPECT_EQ(player->num_steps_to(15), 7);  // from the snapshot before step 9
  EXPECT_EQ(player->num_steps_to(9), 1);
  ASSERT_TRUE(player->begin_go_to(15).ok());
  EXPECT_EQ(player->number(), 9);
  EXPECT_EQ(player->trace().step, 9);
  EXPECT_EQ(player->num_steps_to(15), 6);
  ASSERT_TRUE(player->begin_go_to(15).ok());  // it is on the way
  EXPECT_EQ(player->number(), 9);
}

TEST(LivePlayer, AFaultInsideAStepLeavesItAtTheOneBefore) {
  const RunPlan plan = traffic_plan(true);
  const auto steps = digests_of(plan, 40);
  bool faulty = true;
  SinkOf sink([&](const CheckedStep& step) {
    if (faulty && step.trace.step == 30) throw std::logic_error("a bug");
  });
  const auto player = LivePlayer::create(plan, {.sinks = {&sink}}).value();
  while (player->number() < 29) ASSERT_TRUE(player->step().ok());
  EXPECT_THROW((void)player->step(), std::logic_error);
  EXPECT_EQ(player->last_known_step(), 29);
  EXPECT_EQ(shown(*player), steps[28]);
  EXPECT_THAT(player->step().error().message, HasSubstr("fault of the program"));
  ASSERT_TRUE(player->go_to(28).ok());
  EXPECT_EQ(shown(*player), steps[27]);
  faulty = false;
  ASSERT_TRUE(player->go_to(30).ok());
  EXPECT_EQ(shown(*player), steps[29]);
}

TEST(LivePlayer, StepsBackToTheFirstStepAndForthAgain) {
  for (const std::string& path : test::shipped_scenarios()) {
    SCOPED_TRACE(path);
    const auto steps = digests_of(plan_of_file(path));
    const auto player =
        LivePlayer::create(plan_of_file(path), {.max_snapshots = 3, .spacing = 2}).value();
    for (std::size_t i = 0; i < steps.size(); ++i) ASSERT_TRUE(player->step().ok());
    for (std::size_t i = steps.size() - 1; i > 0; --i) {
      ASSERT_TRUE(player->go_to(steps[i - 1].step).ok());
      ASSERT_EQ(shown(*player), steps[i - 1]);
    }
    for (std::size_t i = 1; i < steps.size(); ++i) {
      ASSERT_TRUE(player->step().ok());
      ASSERT_EQ(shown(*player), steps[i]);
    }
  }
}

TEST(LivePlayer, GoesToAnyStepWithFewSnapshotsAndAShortRunFromOne) {
  for (const bool async_scheduling : {false, true}) {
    const RunPlan plan = traffic_plan(async_scheduling);
    const auto steps = digests_of(plan);
    ASSERT_GT(steps.size(), 150u);
    const auto player = LivePlayer::create(plan, {.max_snapshots = 12, .spacing = 4}).value();
    std::uint64_t state = 1;
    constexpr int kMoves = 100;
    for (int i = 0; i < kMoves; ++i) {
      const auto to = static_cast<std::size_t>((state = mix(state, 5)) % steps.size());
      ASSERT_TRUE(player->go_to(steps[to].step).ok());
      ASSERT_EQ(shown(*player), steps[to]);
      ASSERT_LE(player->num_snapshots(), 12u);
    }
    // Running from the start each time would be half of the steps a move.
    EXPECT_LT(player->num_steps_run(), kMoves * static_cast<std::int64_t>(steps.size()) / 6);
  }
}

TEST(LivePlayer, GoingBackFromTheEndCostsAPartOfTheWay) {
  const RunPlan plan = traffic_plan(false);
  const auto steps = digests_of(plan);
  for (std::size_t back = 1; back < steps.size(); back = back * 2 + 1) {
    const auto player = LivePlayer::create(plan, {.max_snapshots = 16, .spacing = 4}).value();
    ASSERT_TRUE(player->go_to(steps.back().step).ok());
    const std::int64_t before = player->num_steps_run();
    ASSERT_TRUE(player->go_to(steps[steps.size() - 1 - back].step).ok());
    EXPECT_LE(player->num_steps_run() - before, 4 + static_cast<std::int64_t>(back) / 2) << back;
  }
}

TEST(LivePlayer, AStepThatIsLeftOutIsNotThereAndThePlayerStays) {
  const auto player =
      LivePlayer::create(plan_of_text(R"({"version": 1, "name": "n", "model": "tiny-mamba2",
              "settings": {"block_size": 8, "num_gpu_blocks_override": 16, "max_model_len": 64,
                           "async_scheduling": false},
              "requests": [{"id": "A", "prompt": 4, "max_tokens": 2},
                           {"id": "B", "prompt": 4, "max_tokens": 2, "at_step": 900}]})"),
                         {})
          .value();
  ASSERT_TRUE(player->go_to(2).ok());
  EXPECT_EQ(player->go_to(500).error().message, "there is no step 500: after 2 comes 900");
  EXPECT_EQ(player->number(), 2);
  EXPECT_EQ(player->go_to(902).error().message, "there is no step 902: after 901 comes none");
  EXPECT_EQ(player->number(), 2);
  EXPECT_EQ(player->go_to(0).error().message, "there is no step 0");
  EXPECT_TRUE(player->go_to(901).ok());
  EXPECT_TRUE(player->done());
}

TEST(LivePlayer, KeepsEachStepsWritesWhereToldTo) {
  const RunPlan plan = traffic_plan(false);
  const auto silent = LivePlayer::create(plan, {}).value();
  const auto player = LivePlayer::create(plan, {.spacing = 1, .logs_writes = true}).value();
  ASSERT_TRUE(silent->go_to(3).ok());
  EXPECT_TRUE(silent->writes().empty());
  ASSERT_TRUE(player->go_to(3).ok());
  const std::vector<StateWrite> writes(player->writes().begin(), player->writes().end());
  EXPECT_FALSE(writes.empty());
  ASSERT_TRUE(player->go_to(4).ok());
  ASSERT_TRUE(player->go_to(3).ok());  // from a snapshot
  EXPECT_TRUE(std::ranges::equal(player->writes(), writes));
}

// Its row of step 2 has tokens 20 to 22; step 3 takes one back; step 4 preempts it, and a reset may
// do so in the step that admits it again.
TEST(RequestCounts, AreThoseOfTheLastStepInWhichTheRequestHadAPart) {
  RequestCounts counts;
  const auto take = [&counts](const StepTrace& trace) {
    take_counts(trace, [&](RequestId of) { return of == RequestId{7} ? &counts : nullptr; });
    return counts;
  };
  StepTrace second;
  second.scheduled.push_back({.request = {7},
                              .num_computed_tokens = 20,
                              .num_scheduled_tokens = 3,
                              .num_tokens = 21,
                              .num_prompt_tokens = 18});
  EXPECT_EQ(take(second), (RequestCounts{18, 23, 3, 0}));
  StepTrace third;
  third.committed.push_back({.request = {7}, .num_computed_tokens = 22, .num_tokens = 22});
  EXPECT_EQ(take(third), (RequestCounts{18, 22, 4, 0}));
  StepTrace fourth;
  fourth.preempted.push_back({7});
  EXPECT_EQ(take(fourth), (RequestCounts{18, 0, 4, 1}));
  fourth.scheduled.push_back({.request = {7},
                              .admission = Admission::resumed,
                              .run = 1,
                              .num_scheduled_tokens = 22,
                              .num_tokens = 22,
                              .num_prompt_tokens = 18});
  EXPECT_EQ(take(fourth), (RequestCounts{18, 22, 4, 1}));
}

// Budgets of 4 tokens never reach the boundary of a block of 8: the engine would go on for ever.
TEST(LivePlayer, EndsWithTheStepThatMakesNoProgress) {
  RunPlan plan = plan_of_text(R"({
    "version": 1, "name": "stuck", "teaches": "t", "model": "tiny-mamba2",
    "settings": {"mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 16,
                 "max_model_len": 64, "async_scheduling": false, "max_num_batched_tokens": 8,
                 "max_num_seqs": 4},
    "requests": [{"id": "A", "prompt": 20, "max_tokens": 2}]})");
  plan.setup.config.max_num_batched_tokens = 4;  // what no scenario may say
  const auto player = LivePlayer::create(plan, {}).value();
  EXPECT_THAT(player->go_to(1000).error().message,
              HasSubstr("there is no step 1000: after 1 comes none"));
  EXPECT_EQ(player->number(), 0);
  EXPECT_FALSE(player->done());
  ASSERT_TRUE(player->step().ok());
  EXPECT_TRUE(player->done());
  EXPECT_EQ(player->step().error().kind, ErrorKind::not_found);
  EXPECT_EQ(player->num_steps_run(), 2);
}

StateWrite temporal_write(WriteKind kind, std::int32_t step, std::int32_t block,
                          std::int32_t num_tokens) {
  StateWrite write;
  write.event = {
      .kind = kind, .step = step, .ordinal = 0, .request = {0}, .num_tokens = num_tokens};
  write.group = 0;
  write.content = ContentKind::temporal;
  write.block = block;
  return write;
}

StepTrace step_with(std::int64_t number) {
  StepTrace trace;
  trace.step = number;
  return trace;
}

CacheEvent given_out(std::int32_t block) {
  CacheEvent event;
  event.kind = CacheEventKind::allocated;
  event.block = block;
  return event;
}

void add_post_copy(StepTrace& trace, std::int32_t source, std::int32_t destination) {
  StateCopyTrace copy;
  copy.group = 0;
  copy.temporal_src_block = source;
  copy.conv_src_block = source;
  copy.dst_block = destination;
  trace.post_copies.copies.push_back(copy);
}

std::vector<std::int32_t> blocks_of(const WriteChain& chain) {
  std::vector<std::int32_t> blocks;
  for (const StateWrite& write : chain.writes) blocks.push_back(write.block);
  return blocks;
}

// Step 1 computes 8 tokens into block 2, step 2 copies them to block 3.
WriteLog log_of_a_copy() {
  WriteLog log({.num_blocks = 8});
  log.take(step_with(1), std::vector{temporal_write(WriteKind::prefill, 1, 2, 8)});
  StepTrace second = step_with(2);
  add_post_copy(second, 2, 3);
  log.take(second, std::vector{temporal_write(WriteKind::post_copy, 2, 3, 8)});
  return log;
}

TEST(WriteLog, AChainGoesFromACopyToWhatWasCopied) {
  const WriteChain chain = log_of_a_copy().chain(3, ContentKind::temporal, 2);
  EXPECT_THAT(blocks_of(chain), testing::ElementsAre(3, 2));
  EXPECT_EQ(chain.end, ChainEnd::beginning);
}

TEST(WriteLog, AChainEndsBeforeTheStepThatIsAskedFor) {
  EXPECT_THAT(blocks_of(log_of_a_copy().chain(3, ContentKind::temporal, 1)), testing::IsEmpty());
  EXPECT_THAT(blocks_of(log_of_a_copy().chain(2, ContentKind::temporal, 1)),
              testing::ElementsAre(2));
}

TEST(WriteLog, ABlockThatIsGivenOutAgainHoldsNothing) {
  WriteLog log = log_of_a_copy();
  StepTrace third = step_with(3);
  third.cache_events.push_back(given_out(3));
  log.take(third, {});
  EXPECT_THAT(blocks_of(log.chain(3, ContentKind::temporal, 3)), testing::IsEmpty());
  EXPECT_THAT(blocks_of(log.chain(3, ContentKind::temporal, 2)), testing::ElementsAre(3, 2));
}

TEST(WriteLog, CopiesOfOneLaunchReadBeforeAnyOfThemWrites) {
  WriteLog log = log_of_a_copy();
  StepTrace third = step_with(3);
  add_post_copy(third, 3, 4);
  add_post_copy(third, 2, 3);
  log.take(third, std::vector{temporal_write(WriteKind::post_copy, 3, 3, 8),
                              temporal_write(WriteKind::post_copy, 3, 4, 8)});
  // Block 4 got what block 3 held in step 2, not what the launch put there.
  const WriteChain chain = log.chain(4, ContentKind::temporal, 3);
  ASSERT_EQ(chain.writes.size(), 3u);
  EXPECT_EQ(chain.writes[1].event.step, 2);
}

TEST(WriteLog, WhatIsForgottenIsAsIfItHadNotHappened) {
  WriteLog log = log_of_a_copy();
  log.forget_after(1);
  EXPECT_EQ(log.size(), 1u);
  EXPECT_THAT(blocks_of(log.chain(3, ContentKind::temporal, 2)), testing::IsEmpty());
}

TEST(WriteLog, AFullLogSaysThatOlderWritesAreGone) {
  WriteLog log({.num_blocks = 8, .capacity = 4});
  for (std::int32_t step = 1; step <= 5; ++step)
    log.take(step_with(step), std::vector{temporal_write(WriteKind::decode, step, step, step)});
  EXPECT_EQ(log.size(), 2u);
  EXPECT_EQ(log.chain(1, ContentKind::temporal, 5).end, ChainEnd::cut);
  EXPECT_THAT(blocks_of(log.chain(5, ContentKind::temporal, 5)), testing::ElementsAre(5));
}

// Half of its capacity are 2 writes, in the middle of step 3.
TEST(WriteLog, StepsAreDroppedWhole) {
  WriteLog log({.num_blocks = 8, .capacity = 4});
  for (std::int32_t step = 1; step <= 3; ++step)
    log.take(step_with(step), std::vector{temporal_write(WriteKind::decode, step, 1, step),
                                          temporal_write(WriteKind::decode, step, 2, step),
                                          temporal_write(WriteKind::decode, step, 3, step)});
  EXPECT_EQ(log.first_step(), 3);
  EXPECT_EQ(log.size(), 3u);
  log.forget_after(1);
  EXPECT_EQ(log.first_step(), 2);  // of what comes now nothing is missing
  EXPECT_EQ(log.size(), 0u);
}

// Step 1 computes 8 tokens into block 2, step 2 copies them to block 3, step 3 those to block 4.
TEST(WriteLog, ALogOfEarlierStepsGoesOnWithAChainThatIsCut) {
  const WriteLog earlier = log_of_a_copy();
  WriteLog log({.num_blocks = 8, .capacity = 2});
  log.take(step_with(1), std::vector{temporal_write(WriteKind::prefill, 1, 2, 8)});
  StepTrace second = step_with(2);
  add_post_copy(second, 2, 3);
  log.take(second, std::vector{temporal_write(WriteKind::post_copy, 2, 3, 8)});
  StepTrace third = step_with(3);
  add_post_copy(third, 3, 4);
  log.take(third, std::vector{temporal_write(WriteKind::post_copy, 3, 4, 8)});
  ASSERT_EQ(log.first_step(), 3);
  WriteLog::Search from = log.last(4, ContentKind::temporal, 3);
  WriteChain chain;
  log.follow(from, chain);
  EXPECT_THAT(blocks_of(chain), testing::ElementsAre(4));
  EXPECT_EQ(chain.end, ChainEnd::cut);
  earlier.follow(from, chain);
  EXPECT_THAT(blocks_of(chain), testing::ElementsAre(4, 3, 2));
  EXPECT_EQ(chain.end, ChainEnd::beginning);
}

TEST(WriteLog, TheLastWriteIsTheOneTheCheckerKnowsInEveryShippedScenario) {
  for (const std::string& path : test::shipped_scenarios()) {
    SCOPED_TRACE(path);
    const RunPlan plan = test::plan_of_file(path);
    WriteLog log({.num_blocks = plan.setup.config.kv_cache_config.num_blocks,
                  .mamba_cache_mode = plan.setup.config.mamba_cache_mode});
    SinkOf sink([&](const CheckedStep& step) { log.take(step.trace, step.writes); });
    const auto player = LivePlayer::create(plan, {.logs_writes = true, .sinks = {&sink}}).value();
    while (!player->done()) {
      ASSERT_TRUE(player->step().ok());
      const SymbolicState& state = player->run().state().state;
      for (std::int32_t block = 1; block < state.num_blocks(); ++block) {
        const WriteChain chain = log.chain(block, ContentKind::temporal, player->number());
        const WriteEvent last = chain.writes.empty() ? WriteEvent{} : chain.writes[0].event;
        ASSERT_EQ(last, state.temporal(block).event) << "block " << block;
        // Each goes on from a state of fewer tokens, or is a copy of the very same.
        for (std::size_t i = 1; i < chain.writes.size(); ++i)
          ASSERT_LE(chain.writes[i].event.num_tokens, chain.writes[i - 1].event.num_tokens);
      }
    }
  }
}

}  // namespace

}  // namespace hybridscope::live_player_test
