// Random scenarios with asynchronous scheduling and the V2 runner: the safe rules keep every state
// correct there too, and asynchronous scheduling agrees with synchronous (semantics:
// async-equals-sync).
#include <gtest/gtest.h>

#include <iostream>
#include <string>

#include "tests/support/naive_scenario.h"

namespace hybridscope::test::naive_variant_random_test {
namespace {

constexpr std::uint64_t kFirstSeed = 20261121;

struct Variant {
  const char* name;
  NaiveCacheMode mode;
  NaiveVariant engine;
};

constexpr Variant kVariants[] = {
    {"sync_v2_align", NaiveCacheMode::align, {false, NaiveRunner::v2}},
    {"async_v1_align", NaiveCacheMode::align, {true, NaiveRunner::v1}},
    {"async_v2_align", NaiveCacheMode::align, {true, NaiveRunner::v2}},
    {"sync_v2_none", NaiveCacheMode::none, {false, NaiveRunner::v2}},
    {"async_v1_none", NaiveCacheMode::none, {true, NaiveRunner::v1}},
    {"async_v2_none", NaiveCacheMode::none, {true, NaiveRunner::v2}},
};

// Counts what a set of scenarios exercised, so that a clean result means something.
struct Coverage {
  int steps = 0;
  int preempted = 0;
  int hits = 0;
  int left = 0;      // rows whose request had left when their frame returned
  int stale = 0;     // rows whose request was reset meanwhile
  int drained = 0;   // tokens appended to a preempted request
  int rejected = 0;  // frames that rejected drafts while the next one was in flight
  int moved = 0;     // rows of running requests that changed their place

  void add(const NaiveRun& run) {
    for (const NaiveStep& step : run.steps) {
      ++steps;
      preempted += static_cast<int>(step.preempted.size());
      for (const NaiveScheduled& entry : step.scheduled)
        hits += entry.num_hit_tokens.value_or(0) > 0;
      for (const NaiveCommitted& entry : step.committed) {
        left += entry.result == NaiveReturn::left;
        stale += entry.result == NaiveReturn::stale;
        drained += entry.num_appended_tokens > 0 && entry.num_computed_tokens == 0;
        rejected += entry.num_rejected_tokens > 0 && entry.num_output_placeholders > 0;
      }
      for (std::size_t i = 0; i < step.rows.size(); ++i)
        moved += step.rows[i].previous_row.value_or(static_cast<int>(i)) != static_cast<int>(i);
    }
  }
};

class NaiveVariants : public ::testing::TestWithParam<Variant> {};

TEST_P(NaiveVariants, SafeRulesKeepEveryStateRight) {
  Coverage coverage;
  int failures = 0;
  constexpr int kScenarios = 1000;
  for (int i = 0; i < kScenarios && failures < 5; ++i) {
    const std::uint64_t seed = kFirstSeed + static_cast<std::uint64_t>(i);
    const NaiveScenario scenario = random_naive_scenario(GetParam().mode, seed, GetParam().engine);
    const NaiveRun run = run_naive_scenario(scenario);
    coverage.add(run);
    const std::string fault = fault_of(scenario, run);
    if (fault.empty()) continue;
    ++failures;
    ADD_FAILURE() << "seed " << seed << fault;
  }
  std::cout << kScenarios << " scenarios from seed " << kFirstSeed << ": " << coverage.steps
            << " steps, " << coverage.hits << " hits, " << coverage.preempted << " preempted, "
            << coverage.left << " left, " << coverage.stale << " stale, " << coverage.drained
            << " drained, " << coverage.rejected << " rejected in flight, " << coverage.moved
            << " moved rows\n";
  EXPECT_GT(coverage.preempted, 400);
  EXPECT_GT(coverage.moved, 1000);
  EXPECT_GE(coverage.hits, GetParam().mode == NaiveCacheMode::align ? 1000 : 0);
  if (!GetParam().engine.async_scheduling) return;
  EXPECT_GT(coverage.left, 500);
  EXPECT_GT(coverage.stale, 50);
  EXPECT_GT(coverage.drained, 100);
  EXPECT_GT(coverage.rejected, 1000);
}

INSTANTIATE_TEST_SUITE_P(Engines, NaiveVariants, ::testing::ValuesIn(kVariants),
                         [](const auto& variant) { return std::string(variant.param.name); });

}  // namespace
}  // namespace hybridscope::test::naive_variant_random_test
