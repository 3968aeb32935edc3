// Several attention groups with different block sizes: the hit they agree on (semantics:
// find-longest-cache-hit), by hand and in random scenarios.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <vector>

#include "tests/support/naive_bench.h"
#include "tests/support/naive_scenario.h"

namespace hybridscope::test::naive_attention_groups_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Lists = std::vector<std::vector<int>>;

constexpr std::uint64_t kFirstSeed = 20261215;

// B = 4, attention groups of 4 and 8: hits end at multiples of 8.
Bench two_sizes() {
  Bench bench;
  bench.config.block_size = 4;
  bench.config.attention_block_sizes = {4, 8};
  return bench;
}

TEST(NaiveAttentionGroups, AllGroupsRegisterUpToTheCommonGrid) {
  Bench bench = two_sizes();
  NaiveEngine engine = bench.engine();
  engine.add_request({.prompt = prompt_of(13), .max_tokens = 4});
  const NaiveStep first = engine.step();  // 12 of 13 tokens, a chunk that ends on the grid
  EXPECT_EQ(first.scheduled.at(0).block_ids, (Lists{{1, 2, 3}, {4, 5}, {0, 0, 6}}));
  EXPECT_THAT(first.hashed, ElementsAre(1, 2, 4));  // 8 tokens; no state is kept there
  EXPECT_THAT(texts(first), IsEmpty());
}

TEST(NaiveAttentionGroups, TheHitIsAMultipleOfEveryBlockSize) {
  Bench bench = two_sizes();
  NaiveEngine engine = bench.engine();
  engine.add_request({.prompt = prompt_of(13), .max_tokens = 1});
  engine.step(4);
  engine.step(4);  // S(8)
  engine.step();
  EXPECT_THAT(engine.step().finished, ElementsAre(0));
  engine.add_request({.prompt = prompt_of(20), .max_tokens = 1});
  const NaiveStep hit = engine.step();
  EXPECT_EQ(hit.scheduled.at(0).num_hit_tokens, 8);
  EXPECT_THAT(texts(hit), IsEmpty());
}

struct Sizes {
  const char* name;
  std::vector<int> (*of)(int block_size);
  NaiveVariant engine;
};

class NaiveAttentionGroupSizes : public ::testing::TestWithParam<Sizes> {};

NaiveScenario scenario_of(std::uint64_t seed, const Sizes& sizes) {
  NaiveScenario scenario = random_naive_scenario(NaiveCacheMode::align, seed, sizes.engine);
  NaiveConfig& config = scenario.config;
  config.attention_block_sizes = sizes.of(config.block_size);
  for (const int block_size : config.attention_block_sizes)
    config.num_blocks += config.max_model_len / block_size + 1;
  config.num_blocks -= config.max_model_len / config.block_size;
  return scenario;
}

TEST_P(NaiveAttentionGroupSizes, SafeRulesKeepEveryStateRight) {
  int hits = 0;
  int preempted = 0;
  for (std::uint64_t seed = kFirstSeed; seed < kFirstSeed + 500; ++seed) {
    const NaiveRun run = run_naive_scenario(scenario_of(seed, GetParam()));
    for (const NaiveStep& step : run.steps) {
      EXPECT_THAT(texts(step), IsEmpty()) << "seed " << seed << " step " << step.step;
      for (const NaiveScheduled& entry : step.scheduled)
        hits += entry.num_hit_tokens.value_or(0) > 0;
      preempted += static_cast<int>(step.preempted.size());
    }
    EXPECT_TRUE(run.finished) << "seed " << seed;
  }
  std::cout << "500 scenarios from seed " << kFirstSeed << ": " << hits << " hits, " << preempted
            << " preempted\n";
  EXPECT_GT(hits, 200);
  EXPECT_GT(preempted, 200);
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, NaiveAttentionGroupSizes,
    ::testing::Values(Sizes{"same",
                            [](int B) {
                              return std::vector{B, B};
                            },
                            {}},
                      Sizes{"one_larger", [](int B) { return std::vector{2 * B}; }, {}},
                      Sizes{"one_smaller", [](int B) { return std::vector{B / 2}; }, {}},
                      Sizes{"second_larger",
                            [](int B) {
                              return std::vector{B, 2 * B};
                            },
                            {}},
                      Sizes{"second_smaller",
                            [](int B) {
                              return std::vector{2 * B, B};
                            },
                            {}},
                      Sizes{"async",
                            [](int B) {
                              return std::vector{B, 2 * B};
                            },
                            {true, NaiveRunner::v1}},
                      Sizes{"async_v2",
                            [](int B) {
                              return std::vector{2 * B, B / 2};
                            },
                            {true, NaiveRunner::v2}}),
    [](const auto& sizes) { return std::string(sizes.param.name); });

// The second fault of the reference (semantics: find-longest-cache-hit).
TEST(NaiveAttentionGroups, AnUncutGroupCoversMoreThanTheHit) {
  const Sizes sizes{"", [](int B) { return std::vector{B, 2 * B}; }, {}};
  int violating = 0;
  for (std::uint64_t seed = kFirstSeed; seed < kFirstSeed + 500; ++seed) {
    NaiveScenario scenario = scenario_of(seed, sizes);
    scenario.config.rules.every_attention_group_is_cut = false;
    const NaiveRun run = run_naive_scenario(scenario, NaiveRunUntil::first_violation);
    violating += !run.violations.empty() && run.violations[0].rule == "hit_coverage";
  }
  std::cout << violating << " of 500 scenarios\n";
  EXPECT_GT(violating, 20);
}

}  // namespace
}  // namespace hybridscope::test::naive_attention_groups_test
