// Asynchronous scheduling of the naive engine, on scenarios worked out by hand (semantics:
// output-placeholders, update-from-output-async, deferred-frees).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/naive_bench.h"

namespace hybridscope::test::naive_async_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Bench async_bench(int num_speculative_tokens) {
  Bench bench;
  bench.config.async_scheduling = true;
  bench.config.num_speculative_tokens = num_speculative_tokens;
  bench.config.use_eagle = num_speculative_tokens > 0;
  return bench;
}

std::vector<int> computed_known_placeholders(const NaiveEngine& engine, int request) {
  return {engine.num_computed_tokens(request), static_cast<int>(engine.tokens(request).size()),
          engine.num_output_placeholders(request)};
}

TEST(NaiveAsync, NoFrameIsScheduledOnceEnoughTokensAreInFlight) {
  Bench bench = async_bench(0);
  NaiveEngine engine = bench.engine();
  engine.add_request({.prompt = prompt_of(5), .max_tokens = 2});
  engine.step();  // c = 5, one token in flight
  engine.step();  // c = 6, two tokens produced
  EXPECT_EQ(engine.tokens(0).size(), 6u);
  const NaiveStep idle = engine.step();  // 6 + 2 - 1 >= 5 + 2
  EXPECT_THAT(idle.scheduled, IsEmpty());
  EXPECT_EQ(idle.committed_frame, 1);
  EXPECT_THAT(idle.finished, ElementsAre(0));
  EXPECT_EQ(engine.step().committed_frame, 2);  // an empty frame returns too
}

TEST(NaiveAsync, AFrameAfterTheStopRunsForNothing) {
  Bench bench = async_bench(2);
  bench.accepted[0] = 3;
  NaiveEngine engine = bench.engine();
  engine.add_request({.prompt = prompt_of(5), .max_tokens = 4});
  engine.step();
  engine.step();  // 1 + 3 tokens are enough, but not known yet
  const NaiveStep third = engine.step();
  EXPECT_EQ(third.scheduled.size(), 1u);
  EXPECT_THAT(third.finished, ElementsAre(0));
  const NaiveStep fourth = engine.step();
  EXPECT_EQ(fourth.committed.at(0).result, NaiveReturn::left);
  EXPECT_EQ(engine.tokens(0).size(), 9u);
}

TEST(NaiveAsync, APreemptedRequestWaitsForItsFrameAndKeepsItsTokens) {
  Bench bench = async_bench(2);
  NaiveEngine engine = bench.engine();
  engine.add_request({.prompt = prompt_of(9), .max_tokens = 20});
  engine.step();
  engine.step();
  EXPECT_THAT(computed_known_placeholders(engine, 0), ElementsAre(12, 10, 3));
  EXPECT_TRUE(engine.preempt(0));
  EXPECT_THAT(computed_known_placeholders(engine, 0), ElementsAre(0, 10, 3));
  const NaiveStep waits = engine.step();
  EXPECT_THAT(waits.scheduled, IsEmpty());
  EXPECT_EQ(
      waits.committed.at(0),
      (NaiveCommitted{
          .request = 0, .num_appended_tokens = 1, .num_rejected_tokens = 2, .num_tokens = 11}));
  const NaiveStep resumed = engine.step();
  EXPECT_TRUE(resumed.scheduled.at(0).resumed);
  EXPECT_EQ(resumed.scheduled.at(0).num_tokens, 11);
  EXPECT_THAT(texts(resumed), IsEmpty());
}

TEST(NaiveAsync, APreemptedRequestHoldsBackThoseBehindIt) {
  Bench bench = async_bench(0);
  NaiveEngine engine = bench.engine();
  engine.add_request({.prompt = prompt_of(5), .max_tokens = 20});
  engine.step();
  engine.add_request({.prompt = prompt_of(4, 100), .max_tokens = 20});
  engine.preempt(0);
  EXPECT_THAT(engine.step().scheduled, IsEmpty());
  EXPECT_EQ(engine.step().scheduled.size(), 2u);
}

// A prefill chunk in flight has no placeholders, so the request can be admitted again at once.
TEST(NaiveAsync, APreemptedChunkComesBackAtOnce) {
  Bench bench = async_bench(0);
  NaiveEngine engine = bench.engine();
  engine.add_request({.prompt = prompt_of(20), .max_tokens = 4});
  EXPECT_TRUE(engine.step(8).scheduled.at(0).discarded);
  engine.preempt(0);
  const NaiveStep resumed = engine.step();
  EXPECT_EQ(resumed.scheduled.at(0).num_hit_tokens, 8);  // its frame has run
  EXPECT_EQ(resumed.committed.at(0).result, NaiveReturn::discarded);
  EXPECT_THAT(texts(resumed), IsEmpty());
}

// Known bug 17: K = 3, c = 20 with 21 known tokens; of a frame in flight with 1 + 3 tokens two are
// accepted.
NaiveEngine reset_with_a_frame_in_flight(Bench& bench, bool stale_frame_changes_nothing) {
  bench.config.block_size = 32;  // one chunk
  bench.config.rules.stale_frame_changes_nothing = stale_frame_changes_nothing;
  bench.accepted[0] = 2;
  NaiveEngine engine = bench.engine();
  engine.add_request({.prompt = prompt_of(20), .max_tokens = 30});
  engine.step();
  engine.step();
  EXPECT_THAT(computed_known_placeholders(engine, 0), ElementsAre(24, 21, 4));
  EXPECT_TRUE(engine.reset_prefix_cache(true));
  EXPECT_THAT(computed_known_placeholders(engine, 0), ElementsAre(0, 21, 0));
  return engine;
}

TEST(NaiveAsync, AStaleFrameChangesNothing) {
  Bench bench = async_bench(3);
  NaiveEngine engine = reset_with_a_frame_in_flight(bench, true);
  const NaiveStep resumed = engine.step();
  EXPECT_EQ(resumed.scheduled.at(0).run, 1);
  EXPECT_EQ(resumed.scheduled.at(0).num_scheduled_tokens, 21);
  EXPECT_EQ(resumed.committed.at(0).result, NaiveReturn::stale);
  EXPECT_THAT(computed_known_placeholders(engine, 0), ElementsAre(21, 21, 1));
  EXPECT_THAT(texts(engine.step()), IsEmpty());
}

TEST(NaiveAsync, AStaleFrameRollsBackTheNewRun) {
  Bench bench = async_bench(3);
  NaiveEngine engine = reset_with_a_frame_in_flight(bench, false);
  engine.step();
  EXPECT_EQ(engine.num_computed_tokens(0), 19);
  EXPECT_THAT(texts(engine.step()),
              ::testing::Contains("exact_c: reported 19, rejected in flight 0, exact 21"));
}

TEST(NaiveAsync, AnAbortedRequestsRowIsIgnored) {
  Bench bench = async_bench(2);
  NaiveEngine engine = bench.engine();
  engine.add_request({.prompt = prompt_of(5), .max_tokens = 20});
  engine.step();
  engine.abort(0);
  const NaiveStep after = engine.step();
  EXPECT_EQ(after.committed.at(0).result, NaiveReturn::left);
  EXPECT_EQ(engine.tokens(0).size(), 5u);
  EXPECT_THAT(after.free_queue, ::testing::SizeIs(63));
}

// A boundary's hash appears when the exact count reaches it, not when the drafts do.
TEST(NaiveAsync, NoPlaceholderIsHashed) {
  Bench bench = async_bench(1);
  bench.accepted[0] = 2;
  NaiveEngine engine = bench.engine();
  engine.add_request({.prompt = prompt_of(6), .max_tokens = 20});
  engine.step();                                 // c = 6
  EXPECT_THAT(engine.step().hashed, IsEmpty());  // c = 8 with drafts; 7 known afterwards
  const NaiveStep third = engine.step();         // 8 known tokens and drafts when it is scheduled
  EXPECT_THAT(third.hashed_after_schedule, IsEmpty());
  EXPECT_THAT(third.hashed, ::testing::SizeIs(2));  // frame 1 has returned: exact count 8
  EXPECT_THAT(texts(third), IsEmpty());
}

}  // namespace
}  // namespace hybridscope::test::naive_async_test
