#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "tests/support/naive_batch.h"
#include "tests/support/naive_bench.h"
#include "tests/support/naive_scenario.h"

namespace hybridscope::test::naive_rules_test {

// Several attention groups with different block sizes: the hit they agree on (semantics:
// find-longest-cache-hit), by hand and in random scenarios.

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

// The order of rows of V1 (semantics: input-batch, reorder-batch) and of V2 (semantics:
// request-slots, row-order-v2).

constexpr int A = 0, B = 1, C = 2, D = 3, E = 4;

NaiveBatchEntry decode(int request, int q = 3) {
  return {.request = request, .c = 9, .q = q, .decode = true};
}
NaiveBatchEntry prefill(int request, int q, bool is_new = false) {
  return {.request = request, .c = 0, .q = q, .admitted = is_new};
}
NaiveBatchEntry extend(int request, int q) { return {.request = request, .c = 8, .q = q}; }

// The requests in row order.
std::vector<int> rows(NaiveBatchV1& batch, const std::vector<NaiveBatchEntry>& scheduled) {
  std::vector<int> result;
  for (const int index : batch.update(scheduled))
    result.push_back(scheduled.at(static_cast<std::size_t>(index)).request);
  return result;
}

NaiveBatchV1 four_rows(const std::vector<NaiveBatchEntry>& scheduled) {
  NaiveBatchV1 batch(3);
  EXPECT_THAT(rows(batch, scheduled), ElementsAre(A, B, C, D));
  return batch;
}

TEST(NaiveBatchV1, NewRowsFillHolesAndDecodesComeFirst) {  // (semantics: input-batch)
  NaiveBatchV1 batch = four_rows({decode(A), decode(B), decode(C), decode(D)});
  EXPECT_THAT(rows(batch, {decode(A), decode(D), prefill(E, 9, true)}), ElementsAre(A, D, E));
  EXPECT_THAT(rows(batch, {decode(A), decode(C), decode(D), decode(E)}), ElementsAre(A, D, E, C));
}

TEST(NaiveBatchV1, ReorderGoesCycleByCycleAndIsNotStable) {  // (semantics: reorder-batch)
  NaiveBatchV1 batch = four_rows({prefill(A, 5), prefill(B, 3), prefill(C, 3), prefill(D, 2)});
  EXPECT_THAT(rows(batch, {prefill(A, 5), decode(B), decode(C), extend(D, 2)}),
              ElementsAre(C, B, D, A));
}

TEST(NaiveBatchV1, LongExtendsStandBetweenShortOnesAndPrefills) {
  NaiveBatchV1 batch(3);
  EXPECT_THAT(rows(batch, {prefill(A, 1), extend(B, 4), extend(C, 3), decode(D)}),
              ElementsAre(D, C, B, A));
}

TEST(NaiveSlotsV2, TheLastFreeSlotIsTakenAndAFreedOneComesBackFirst) {
  NaiveSlotsV2 slots(4);
  EXPECT_EQ(slots.add(A), 3);
  EXPECT_EQ(slots.add(B), 2);
  EXPECT_EQ(slots.add(C), 1);
  slots.free(A);
  slots.free(B);
  slots.free(B);  // has no slot
  EXPECT_EQ(slots.add(D), 2);
  EXPECT_EQ(slots.add(E), 3);
  EXPECT_EQ(slots.slot_of(C), 1);
}

// Scheduler order A (verify), P (prefill), T (tail), D (no drafts) (semantics: row-order-v2).
TEST(NaiveOrderV2, DecodeRowsStandBeforeAllOthers) {
  const std::vector<NaiveBatchEntry> scheduled = {decode(0, 4), prefill(1, 20), extend(2, 2),
                                                  decode(3, 1)};
  EXPECT_THAT(naive_v2_order(scheduled, true), ElementsAre(3, 0, 2, 1));
  EXPECT_THAT(naive_v2_order(scheduled, false), ElementsAre(3, 2, 0, 1));
}

TEST(NaiveOrderV2, EqualLengthsStayInSchedulerOrder) {
  EXPECT_THAT(naive_v2_order({decode(0), decode(1, 1), decode(2), prefill(3, 3)}, true),
              ElementsAre(1, 0, 2, 3));
}

// Each safe rule of the naive engine is necessary: without it, some random scenario has a wrong
// state.

constexpr std::uint64_t kFirstDroppedSeed = 20260801;

struct Rule {
  const char* name;
  void (*drop)(NaiveRules&);
  std::set<std::string> first_rules;  // findings with which it may first show
};

const Rule kClass{"class_by_meaning",
                  [](NaiveRules& rules) { rules.class_by_meaning = false; },
                  {"source_state", "label"}};
const Rule kGrid{
    "chunks_end_on_grid", [](NaiveRules& rules) { rules.chunks_end_on_grid = false; }, {"label"}};
const Rule kLookahead{"mamba_no_eagle_lookahead",
                      [](NaiveRules& rules) { rules.mamba_no_eagle_lookahead = false; },
                      {"hit_coverage"}};
const Rule kCount{"count_survives_skipped_step",
                  [](NaiveRules& rules) { rules.count_survives_skipped_step = false; },
                  {"source_state", "source_conv"}};
const Rule kWithdraw{
    "withdraw_planned", [](NaiveRules& rules) { rules.withdraw_planned = false; }, {"label"}};
const Rule kWaits{"planned_hit_waits",
                  [](NaiveRules& rules) {
                    rules.planned_state_hit_waits = false;
                    rules.planned_attention_hit_waits = false;
                  },
                  {"unwritten_read", "source_state"}};
const Rule kDecodesFirst{"decode_rows_first",
                         [](NaiveRules& rules) { rules.decode_rows_first = false; },
                         {"source_state", "source_conv", "unwritten_read", "label"}};
const Rule kExactColumn{"column_follows_exact_count",
                        [](NaiveRules& rules) { rules.column_follows_exact_count = false; },
                        {"source_state", "source_conv", "unwritten_read", "label"}};
const Rule kStale{"stale_frame_changes_nothing",
                  [](NaiveRules& rules) { rules.stale_frame_changes_nothing = false; },
                  {"exact_c"}};

struct Engine {
  const char* name;
  NaiveCacheMode mode;
  NaiveVariant variant;
};

constexpr Engine kSyncV1Align{"sync_v1_align", NaiveCacheMode::align, {}};
constexpr Engine kSyncV1None{"sync_v1_none", NaiveCacheMode::none, {}};
constexpr Engine kSyncV2Align{"sync_v2_align", NaiveCacheMode::align, {false, NaiveRunner::v2}};
constexpr Engine kSyncV2None{"sync_v2_none", NaiveCacheMode::none, {false, NaiveRunner::v2}};
constexpr Engine kAsyncV1Align{"async_v1_align", NaiveCacheMode::align, {true, NaiveRunner::v1}};
constexpr Engine kAsyncV1None{"async_v1_none", NaiveCacheMode::none, {true, NaiveRunner::v1}};
constexpr Engine kAsyncV2Align{"async_v2_align", NaiveCacheMode::align, {true, NaiveRunner::v2}};
constexpr Engine kAsyncV2None{"async_v2_none", NaiveCacheMode::none, {true, NaiveRunner::v2}};

// `at_least`: the least number of scenarios with a violation; 0: there must be none.
struct Dropped {
  Rule rule;
  Engine engine;
  int at_least;
  int num_scenarios = 500;
  friend std::ostream& operator<<(std::ostream& out, const Dropped& dropped) {
    return out << dropped.engine.name << ", " << dropped.rule.name << " dropped";
  }
};

class NaiveDroppedRule : public ::testing::TestWithParam<Dropped> {};

TEST_P(NaiveDroppedRule, GivesViolations) {
  const auto& [rule, engine, at_least, num_scenarios] = GetParam();
  std::set<std::string> first_rules;
  int violating = 0;
  for (int i = 0; i < num_scenarios; ++i) {
    NaiveScenario scenario = random_naive_scenario(
        engine.mode, kFirstDroppedSeed + static_cast<std::uint64_t>(i), engine.variant);
    rule.drop(scenario.config.rules);
    const NaiveRun run = run_naive_scenario(scenario, NaiveRunUntil::first_violation);
    violating += !run.violations.empty();
    if (!run.violations.empty()) first_rules.insert(run.violations[0].rule);
  }
  std::cout << GetParam() << ": " << violating << " of " << num_scenarios << " scenarios from seed "
            << kFirstDroppedSeed << "\n";
  EXPECT_GE(violating, at_least);
  EXPECT_TRUE(at_least > 0 || violating == 0);
  for (const std::string& first : first_rules)
    EXPECT_TRUE(rule.first_rules.contains(first)) << first;
}

const Dropped kDropped[] = {
    {kClass, kSyncV1Align, 50, 2000},
    {kGrid, kSyncV1Align, 100, 2000},
    {kLookahead, kSyncV1Align, 300, 2000},
    {kCount, kSyncV1Align, 80, 2000},
    {kWithdraw, kSyncV1Align, 5, 2000},
    {kWaits, kSyncV1Align, 100, 2000},
    {kClass, kSyncV1None, 30, 2000},
    {kCount, kSyncV1None, 80, 2000},

    {kClass, kAsyncV1Align, 8},
    {kGrid, kAsyncV1Align, 50},
    {kLookahead, kAsyncV1Align, 100},
    {kCount, kAsyncV1Align, 25},
    {kWithdraw, kAsyncV1Align, 1, 2000},  // rarer: outputs are registered a frame later
    {kWaits, kAsyncV1Align, 40},
    {kExactColumn, kAsyncV1Align, 50},
    {kStale, kAsyncV1Align, 8},
    {kClass, kAsyncV1None, 8},
    {kCount, kAsyncV1None, 25},
    {kStale, kAsyncV1None, 8},

    {kDecodesFirst, kSyncV2Align, 25},
    {kDecodesFirst, kSyncV2None, 50},
    {kClass, kSyncV2Align, 0},  // the runner's own test knows which tokens are recomputed
    {kCount, kSyncV2Align, 0},  // a V2 slot forgets nothing
    {kExactColumn, kSyncV2Align, 0},
    {kDecodesFirst, kAsyncV2Align, 25},
    {kDecodesFirst, kAsyncV2None, 50},
    {kExactColumn, kAsyncV2Align, 50},
    {kStale, kAsyncV2Align, 8},
};

INSTANTIATE_TEST_SUITE_P(Rules, NaiveDroppedRule, ::testing::ValuesIn(kDropped),
                         [](const auto& dropped) {
                           return std::string(dropped.param.rule.name) + "_" +
                                  dropped.param.engine.name;
                         });

}  // namespace

}  // namespace hybridscope::test::naive_rules_test
