#include "sessions/live/write_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sessions/live/live_player.h"
#include "tests/sessions/record/plan_run.h"

namespace hybridscope::write_log_test {
namespace {

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
}  // namespace hybridscope::write_log_test
