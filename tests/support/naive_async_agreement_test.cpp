// Synchronous against asynchronous scheduling of one scenario: where the two must agree (semantics:
// async-equals-sync), and that they otherwise differ only in when results are known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/naive_scenario.h"

namespace hybridscope::test::naive_async_agreement_test {
namespace {

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
}  // namespace hybridscope::test::naive_async_agreement_test
