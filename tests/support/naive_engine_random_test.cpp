// While the four conditions hold, no state is ever wrong (semantics: four-conditions).
// naive_dropped_rules_test.cpp shows that each condition is needed.
#include <gtest/gtest.h>

#include <iostream>
#include <string>

#include "tests/support/naive_scenario.h"

namespace hybridscope::test::naive_engine_random_test {
namespace {

constexpr std::uint64_t kFirstSeed = 20260801;

// Counts what a set of scenarios exercised, so that a clean result means something.
struct Coverage {
  int steps = 0;
  int preempted = 0;
  int resumed_with_hit = 0;
  int hits = 0;
  int backward_pre_copies = 0;
  int same_column_post_copies = 0;
  int backward_post_copies = 0;
  int returns_with_count = 0;  // after a skipped step, with more than one token accepted before it

  void add(const NaiveRun& run) {
    std::map<int, std::pair<int, int>> last;  // request -> step, accepted count
    for (const NaiveStep& step : run.steps) {
      ++steps;
      preempted += static_cast<int>(step.preempted.size());
      for (const NaiveScheduled& entry : step.scheduled) {
        hits += entry.num_hit_tokens.value_or(0) > 0;
        resumed_with_hit += entry.resumed && entry.num_hit_tokens.value_or(0) > 0;
        const auto [last_step, accepted] = last[entry.request];
        returns_with_count += !entry.num_hit_tokens && last_step + 1 < step.step && accepted > 1;
        last[entry.request] = {step.step, entry.num_accepted_tokens};
      }
      for (const NaiveCopy& copy : step.copies) {
        const bool pre = copy.kind == NaiveCopyKind::pre;
        backward_pre_copies += pre && copy.dst_column < copy.src_column;
        backward_post_copies += !pre && copy.dst_column < copy.src_column;
        same_column_post_copies += !pre && copy.dst_column == copy.src_column;
      }
    }
  }
};

Coverage expect_clean(NaiveCacheMode mode, int num_scenarios) {
  Coverage coverage;
  int failures = 0;
  for (int i = 0; i < num_scenarios && failures < 5; ++i) {
    const std::uint64_t seed = kFirstSeed + static_cast<std::uint64_t>(i);
    const NaiveScenario scenario = random_naive_scenario(mode, seed);
    const NaiveRun run = run_naive_scenario(scenario);
    coverage.add(run);
    const std::string fault = fault_of(scenario, run);
    if (fault.empty()) continue;
    ++failures;
    ADD_FAILURE() << "seed " << seed << fault;
  }
  std::cout << num_scenarios << " scenarios from seed " << kFirstSeed << ": " << coverage.steps
            << " steps, " << coverage.hits << " hits, " << coverage.preempted << " preempted\n";
  return coverage;
}

TEST(NaiveEngineRandom, SafeRulesKeepEveryStateRightInAlign) {
  const Coverage coverage = expect_clean(NaiveCacheMode::align, 3000);
  EXPECT_GT(coverage.hits, 1000);
  EXPECT_GT(coverage.preempted, 1000);
  EXPECT_GT(coverage.resumed_with_hit, 100);
  EXPECT_GT(coverage.backward_pre_copies, 100);
  EXPECT_GT(coverage.backward_post_copies, 1000);
  EXPECT_GT(coverage.same_column_post_copies, 100);
  EXPECT_GT(coverage.returns_with_count, 100);
}

TEST(NaiveEngineRandom, SafeRulesKeepEveryStateRightInNone) {
  const Coverage coverage = expect_clean(NaiveCacheMode::none, 1000);
  EXPECT_GT(coverage.preempted, 200);
  EXPECT_GT(coverage.returns_with_count, 100);
  EXPECT_EQ(coverage.hits, 0);
}

TEST(NaiveEngineRandom, SameScenarioGivesTheSameSteps) {
  for (std::uint64_t seed = kFirstSeed; seed < kFirstSeed + 50; ++seed) {
    const NaiveScenario scenario = random_naive_scenario(NaiveCacheMode::align, seed);
    EXPECT_EQ(run_naive_scenario(scenario).steps, run_naive_scenario(scenario).steps);
  }
}

}  // namespace
}  // namespace hybridscope::test::naive_engine_random_test
