// Asynchronous scheduling of the naive engine, on scenarios worked out by hand (semantics:
// output-placeholders, update-from-output-async, deferred-frees).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/naive_bench.h"
#include "tests/support/naive_scenario.h"

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

// Synchronous against asynchronous scheduling of one scenario: where the two must agree (semantics:
// async-equals-sync), and that they otherwise differ only in when results are known.

constexpr std::uint64_t kFirstSeed = 20261201;
constexpr int kPlenty = 4000;  // blocks or tokens: more than any run here needs

// [step] request, q, reported c, block ids of every group.
using Schedule = std::vector<std::vector<std::tuple<int, int, int, std::vector<std::vector<int>>>>>;

enum class BlockIds { compared, ignored };

Schedule schedule_of(const NaiveRun& run, BlockIds block_ids) {
  Schedule schedule;
  for (const NaiveStep& step : run.steps) {
    schedule.emplace_back();
    for (const NaiveScheduled& entry : step.scheduled)
      schedule.back().emplace_back(
          entry.request, entry.num_scheduled_tokens, entry.num_computed_tokens,
          block_ids == BlockIds::compared ? entry.block_ids : std::vector<std::vector<int>>{});
  }
  return schedule;
}

// No request is preempted, stops early or repeats another's output; arrivals and budgets stay.
NaiveScenario endless_scenario(NaiveCacheMode mode, std::uint64_t seed, NaiveVariant variant) {
  NaiveScenario scenario = random_naive_scenario(mode, seed, variant);
  scenario.config.num_blocks = kPlenty;
  scenario.config.max_model_len = kPlenty;
  const int K = scenario.config.num_speculative_tokens;
  scenario.config.num_drafts = [K](int, int) { return K; };
  for (auto& [step, commands] : scenario.commands) {
    std::erase_if(commands, [](const auto& it) { return it.kind != NaiveCommandKind::add; });
    for (NaiveCommand& command : commands) {
      const auto is_output = [](std::uint64_t token) { return (token & 1) != 0; };
      std::vector<std::uint64_t>& prompt = command.spec.prompt;
      prompt.erase(std::find_if(prompt.begin(), prompt.end(), is_output), prompt.end());
      command.spec.max_tokens = kPlenty;
    }
  }
  return scenario;
}

NaiveVariant synchronous(NaiveRunner runner) { return {false, runner}; }
NaiveVariant asynchronous(NaiveRunner runner) { return {true, runner}; }

struct Engine {
  NaiveCacheMode mode;
  NaiveRunner runner;
};

class NaiveAsyncAgreement : public ::testing::TestWithParam<Engine> {};

// Runs 60 scenarios of 60 steps under both schedulers, each after `change`.
void expect_same_schedules(BlockIds block_ids, void (*change)(NaiveConfig&)) {
  const auto [mode, runner] = NaiveAsyncAgreement::GetParam();
  for (std::uint64_t seed = kFirstSeed; seed < kFirstSeed + 60; ++seed) {
    std::vector<Schedule> schedules;
    for (const NaiveVariant variant : {synchronous(runner), asynchronous(runner)}) {
      NaiveScenario scenario = endless_scenario(mode, seed, variant);
      change(scenario.config);
      const NaiveRun run = run_naive_scenario(scenario, NaiveRunUntil::all_finished, 60);
      EXPECT_THAT(run.violations, ::testing::IsEmpty()) << "seed " << seed;
      schedules.push_back(schedule_of(run, block_ids));
    }
    EXPECT_EQ(schedules[0], schedules[1]) << "seed " << seed;
  }
}

TEST_P(NaiveAsyncAgreement, WithoutDraftsAndEndsTheSameIsScheduledWhere) {
  expect_same_schedules(BlockIds::compared, [](NaiveConfig& config) {
    config.num_speculative_tokens = 0;
    config.use_eagle = false;
  });
}

TEST_P(NaiveAsyncAgreement, WithEveryDraftAcceptedAndNoEndsTheSameIsScheduled) {
  expect_same_schedules(BlockIds::ignored, [](NaiveConfig& config) {
    config.num_accepted = [](int, int, int d) { return d + 1; };
  });
}

TEST_P(NaiveAsyncAgreement, RequestsEndWithTheSameTokens) {
  const auto [mode, runner] = GetParam();
  for (std::uint64_t seed = kFirstSeed; seed < kFirstSeed + 150; ++seed) {
    std::vector<std::vector<std::vector<std::uint64_t>>> tokens;
    for (const NaiveVariant variant : {NaiveVariant{}, asynchronous(runner)}) {
      NaiveScenario scenario = random_naive_scenario(mode, seed, variant);
      for (auto& [step, commands] : scenario.commands)
        std::erase_if(commands, [](const auto& it) { return it.kind == NaiveCommandKind::abort; });
      const NaiveRun run = run_naive_scenario(scenario);
      EXPECT_TRUE(run.finished) << "seed " << seed;
      tokens.push_back(run.tokens);
    }
    EXPECT_EQ(tokens[0], tokens[1]) << "seed " << seed;
  }
}

// (request, exact c, d, a) of every row whose tokens were taken, except prefills.
using Accepted = std::set<std::tuple<int, int, int, int>>;

Accepted accepted_counts(const NaiveRun& run) {
  std::map<std::pair<int, int>, NaiveReturn> returned;  // (step, request)
  for (const NaiveStep& step : run.steps)
    for (const NaiveCommitted& entry : step.committed)
      returned[{*step.committed_frame, entry.request}] = entry.result;
  Accepted result;
  for (const NaiveStep& step : run.steps)
    for (const NaiveBatchRow& row : step.rows) {
      const NaiveScheduled& entry = step.scheduled.at(static_cast<std::size_t>(row.scheduled));
      const auto found = returned.find({step.step, row.request});
      if (entry.num_draft_tokens == 0 || found == returned.end()) continue;
      if (found->second != NaiveReturn::taken) continue;
      result.emplace(row.request, row.num_computed_tokens, entry.num_draft_tokens,
                     entry.num_accepted_tokens);
    }
  return result;
}

// Without preemptions, and with blocks for every draft.
TEST_P(NaiveAsyncAgreement, AcceptedCountsPerPositionAreTheSame) {
  const auto [mode, runner] = GetParam();
  std::size_t num_rows = 0;
  for (std::uint64_t seed = kFirstSeed; seed < kFirstSeed + 150; ++seed) {
    std::vector<Accepted> accepted;
    for (const NaiveVariant variant : {synchronous(NaiveRunner::v1), asynchronous(runner)}) {
      NaiveScenario scenario = random_naive_scenario(mode, seed, variant);
      const int K = scenario.config.num_speculative_tokens;
      scenario.config.num_drafts = [K](int, int) { return K; };
      scenario.config.num_blocks = kPlenty;
      scenario.config.max_model_len = 200;
      scenario.config.max_num_batched_tokens = kPlenty;
      scenario.budgets.clear();
      for (auto& [step, commands] : scenario.commands)
        std::erase_if(commands, [](const auto& it) { return it.kind != NaiveCommandKind::add; });
      const NaiveRun run = run_naive_scenario(scenario);
      EXPECT_TRUE(run.finished) << "seed " << seed;
      accepted.push_back(accepted_counts(run));
    }
    EXPECT_EQ(accepted[0], accepted[1]) << "seed " << seed;
    num_rows += accepted[0].size();
  }
  EXPECT_GT(num_rows, 2000U);
}

INSTANTIATE_TEST_SUITE_P(Engines, NaiveAsyncAgreement,
                         ::testing::Values(Engine{NaiveCacheMode::align, NaiveRunner::v1},
                                           Engine{NaiveCacheMode::none, NaiveRunner::v1},
                                           Engine{NaiveCacheMode::align, NaiveRunner::v2},
                                           Engine{NaiveCacheMode::none, NaiveRunner::v2}),
                         [](const auto& engine) {
                           return std::string(engine.param.runner == NaiveRunner::v1 ? "v1"
                                                                                     : "v2") +
                                  (engine.param.mode == NaiveCacheMode::align ? "_align" : "_none");
                         });

}  // namespace

}  // namespace hybridscope::test::naive_async_test
