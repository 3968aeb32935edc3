// Each safe rule of the naive engine is necessary: without it, some random scenario has a wrong
// state.
#include <gtest/gtest.h>

#include <iostream>
#include <ostream>
#include <set>
#include <string>

#include "tests/support/naive_scenario.h"

namespace hybridscope::test::naive_dropped_rules_test {
namespace {

constexpr std::uint64_t kFirstSeed = 20260801;

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
        engine.mode, kFirstSeed + static_cast<std::uint64_t>(i), engine.variant);
    rule.drop(scenario.config.rules);
    const NaiveRun run = run_naive_scenario(scenario, NaiveRunUntil::first_violation);
    violating += !run.violations.empty();
    if (!run.violations.empty()) first_rules.insert(run.violations[0].rule);
  }
  std::cout << GetParam() << ": " << violating << " of " << num_scenarios << " scenarios from seed "
            << kFirstSeed << "\n";
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
}  // namespace hybridscope::test::naive_dropped_rules_test
