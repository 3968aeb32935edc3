// Preemption, reset, end and freeing of a request that a frame in flight still computes
// (semantics: preempted-in-flight, reset-in-flight, deferred-frees).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/engine/scheduler_policies.h"
#include "tests/support/small_engine.h"

namespace hybridscope::test::frames_in_flight_test {
namespace {

constexpr RequestId A{0}, B{1};

// B = 8, K = 2, every draft is accepted unless the rate says otherwise.
EngineConfig async_config(double acceptance_rate = 1.0) {
  EngineConfig config = engine_config({.num_speculative_tokens = 2});
  config.async_scheduling = true;
  config.acceptance_rate = acceptance_rate;
  return config;
}

const CommitTrace* commit_of(const StepTrace& trace, RequestId request) {
  const auto found = std::ranges::find(trace.committed, request, &CommitTrace::request);
  return found == trace.committed.end() ? nullptr : &*found;
}

bool is_scheduled(const StepTrace& trace, RequestId request) {
  return std::ranges::any_of(trace.scheduled,
                             [&](const ScheduledTrace& s) { return s.request == request; });
}

TEST(FramesInFlight, APreemptedRequestKeepsItsTokensAndWaitsForTheFrame) {
  CheckedEngine run(async_config());
  run.add(request_of(5, 20, 1));
  run.step();  // frame 1: the prompt
  run.step();  // frame 2: 1 + 2 tokens; frame 1 returns: 6 known tokens
  run.engine().apply(PreemptRequest{A}).value();
  const StepTrace& third = run.step();  // frame 2 is in flight when frame 3 is scheduled
  EXPECT_FALSE(is_scheduled(third, A));
  ASSERT_EQ(third.skipped.size(), 1U);
  EXPECT_EQ(third.skipped.front().reason, SkipReason::frame_in_flight);
  ASSERT_NE(commit_of(third, A), nullptr);
  EXPECT_EQ(commit_of(third, A)->outcome, CommitOutcome::preempted);
  EXPECT_EQ(commit_of(third, A)->num_appended_tokens, 3);
  EXPECT_EQ(commit_of(third, A)->num_tokens, 9);
  EXPECT_EQ(commit_of(third, A)->num_computed_tokens, 0);
  EXPECT_EQ(commit_of(third, A)->num_output_placeholders, 0);
  const StepTrace& fourth = run.step();
  ASSERT_TRUE(is_scheduled(fourth, A));
  EXPECT_EQ(fourth.scheduled.front().admission, Admission::resumed);
  EXPECT_EQ(fourth.scheduled.front().num_tokens, 9);
  EXPECT_TRUE(run.finish());
  EXPECT_TRUE(run.findings().empty());
}

TEST(FramesInFlight, AResetDropsTheFrameInFlight) {
  CheckedEngine run(async_config());
  run.add(request_of(5, 20, 1));
  run.step();
  run.step();
  run.engine().apply(ResetPrefixCache{true}).value();
  const StepTrace& third = run.step();  // resumed at once, with frame 2 in flight
  ASSERT_TRUE(is_scheduled(third, A));
  EXPECT_EQ(third.scheduled.front().admission, Admission::resumed);
  EXPECT_EQ(third.scheduled.front().num_tokens, 6);
  EXPECT_EQ(third.scheduled.front().num_output_placeholders, 0);
  EXPECT_EQ(commit_of(third, A)->outcome, CommitOutcome::stale_run);
  EXPECT_EQ(commit_of(third, A)->num_tokens, 6);
  EXPECT_EQ(commit_of(third, A)->num_computed_tokens, 6);
  const StepTrace& fourth = run.step();  // frame 3 returns and counts
  EXPECT_EQ(commit_of(fourth, A)->outcome, CommitOutcome::taken);
  EXPECT_TRUE(run.finish());
  EXPECT_TRUE(run.findings().empty());
}

// Known bugs 17, 51: three placeholders were in flight in one frame, so that the rejections of the
// stale frame are taken from the new run and two valid frames lose their tokens as well.
TEST(FramesInFlight, CountingTokensDropsValidFramesToo) {
  EngineConfig config = async_config(0.0);
  config.policies.set(StaleFrame::discard_by_token_count);
  CheckedEngine run(config);
  run.add(request_of(5, 20, 1));
  run.step();
  run.step();
  run.engine().apply(ResetPrefixCache{true}).value();
  const StepTrace& third = run.step();
  EXPECT_EQ(commit_of(third, A)->outcome, CommitOutcome::stale_run);
  EXPECT_EQ(commit_of(third, A)->num_computed_tokens, 4);  // 6 scheduled, 2 rejections of frame 2
  EXPECT_EQ(commit_of(run.step(), A)->outcome, CommitOutcome::stale_run);
  EXPECT_EQ(commit_of(run.step(), A)->outcome, CommitOutcome::stale_run);
  EXPECT_EQ(commit_of(run.step(), A)->outcome, CommitOutcome::taken);
  EXPECT_FALSE(run.findings().empty());
}

TEST(FramesInFlight, ARequestThatEndedRunsOneFrameForNothing) {
  CheckedEngine run(async_config());
  run.add(request_of(5, 4, 1));  // 1 + 3 output tokens
  run.add(request_of(5, 20, 2));
  run.step();
  run.step();
  const StepTrace& third = run.step();  // frame 2 brings A's last token, frame 3 ran it once more
  EXPECT_TRUE(is_scheduled(third, A));
  EXPECT_TRUE(commit_of(third, A)->finished);
  const StepTrace& fourth = run.step();
  EXPECT_FALSE(is_scheduled(fourth, A));
  EXPECT_TRUE(is_scheduled(fourth, B));
  EXPECT_EQ(commit_of(fourth, A)->outcome, CommitOutcome::left_the_engine);
  EXPECT_EQ(commit_of(fourth, A)->num_appended_tokens, 0);
  EXPECT_TRUE(run.finish());
  EXPECT_TRUE(run.findings().empty());
}

TEST(FramesInFlight, AFreeWaitsForTheFramesThatWereScheduled) {
  EngineConfig config = async_config();
  config.kv_consumer = true;
  CheckedEngine run(config);
  run.add(request_of(5, 20, 1));
  run.add(request_of(5, 20, 2));
  run.step();
  run.step();
  run.engine().apply(AbortRequest{A}).value();  // frame 2, its last one, is in flight
  const std::int32_t free_before = run.engine().kv_cache().num_free_blocks();
  const StepTrace& third = run.step();
  const auto count = [](const std::vector<CacheEvent>& events, CacheEventKind kind) {
    return std::ranges::count(events, kind, &CacheEvent::kind);
  };
  EXPECT_EQ(count(third.cache_events, CacheEventKind::freed), 0);
  const auto deferred = count(third.cache_events, CacheEventKind::free_deferred);
  EXPECT_GT(deferred, 0);
  EXPECT_LE(third.num_free_blocks, free_before);
  // Frame 2 returns: fence 2 is reached before any of its rows is looked at.
  EXPECT_EQ(count(third.commit_events, CacheEventKind::free_due), deferred);
  EXPECT_EQ(third.commit_events.front().kind, CacheEventKind::free_due);
  EXPECT_TRUE(run.finish());
  EXPECT_TRUE(run.findings().empty());
}

TEST(FramesInFlight, TheLastFrameReturnsInAStepThatSchedulesNothing) {
  CheckedEngine run(async_config());
  run.add(request_of(5, 4, 1));
  while (run.engine().num_unfinished() > 0) run.step();
  EXPECT_TRUE(run.engine().has_frame_in_flight());  // its row ran once more, for nothing
  const StepTrace& last = run.step();
  EXPECT_TRUE(last.scheduled.empty());
  EXPECT_EQ(commit_of(last, A)->outcome, CommitOutcome::left_the_engine);
  EXPECT_FALSE(run.engine().has_frame_in_flight());
  EXPECT_TRUE(run.findings().empty());
}

TEST(FramesInFlight, ADeferredFreeThatNeverComesIsFound) {
  EngineConfig config = async_config();
  config.kv_consumer = true;
  CheckedEngine run(config);
  run.add(request_of(5, 4, 1));
  const auto forget = [](StepTrace& trace) {
    std::erase_if(trace.commit_events, [](const CacheEvent& event) {
      return event.kind == CacheEventKind::free_due || event.kind == CacheEventKind::freed;
    });
  };
  while (run.engine().num_unfinished() > 0) run.step();
  EXPECT_TRUE(run.findings().empty());
  run.step(forget);
  ASSERT_EQ(run.findings().size(), 1U);
  EXPECT_EQ(run.findings().front().rule, Rule::reference_count);
  EXPECT_EQ(run.findings().front().detail, "deferred frees that never came");
}

TEST(FramesInFlight, PlaceholdersOfAPaddedPromptAreNeverAccepted) {
  EngineConfig config = async_config();
  config.policies.set(OneTokenPrompt::padded_with_placeholders);
  CheckedEngine run(config);
  run.add(request_of(5, 20, 1));
  run.step();
  run.step();
  run.add(request_of(1, 3, 2));
  run.engine().apply(SetAcceptedTokens{B, 3}).value();
  const StepTrace& third = run.step();
  const auto row = std::ranges::find(third.rows, B, &RowTrace::request);
  ASSERT_NE(row, third.rows.end());
  EXPECT_TRUE(third.scheduled_of(*row).placeholder_drafts);
  EXPECT_EQ(row->num_sampled_tokens, 1);
  EXPECT_EQ(third.commands.back().reason, IgnoredReason::no_drafts_to_accept);
}

TEST(FramesInFlight, WithoutSuchAConnectorBlocksAreFreedAtOnce) {
  CheckedEngine run(async_config());
  run.add(request_of(5, 20, 1));
  run.step();
  run.step();
  run.engine().apply(AbortRequest{A}).value();
  const StepTrace& third = run.step();
  EXPECT_TRUE(std::ranges::any_of(third.cache_events, [](const CacheEvent& event) {
    return event.kind == CacheEventKind::freed;
  }));
  EXPECT_TRUE(run.findings().empty());
}

}  // namespace
}  // namespace hybridscope::test::frames_in_flight_test
