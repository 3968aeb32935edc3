#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/caching/hybrid_coordinator_policies.h"
#include "core/engine/aligned_split_policies.h"
#include "core/engine/batch_metadata_policies.h"
#include "core/engine/row_inputs_policies.h"
#include "core/engine/worker_policies.h"
#include "sessions/shrink/scenario_edits.h"

namespace hybridscope::scenario_edits_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ScriptStep full_step() {
  return {.step = 3,
          .budget = 5,
          .accept = {{"A", 2}, {"B", 1}},
          .drafts = {{"A", 0}},
          .preempt = {"A"},
          .abort = {"B"},
          .reset_prefix_cache = PrefixCacheReset::unless_running,
          .engine = EngineProfile::reference,
          .policies = {AlignedSplit::until_last_cache_position, NoDraftStep::column_zero}};
}

// A, B which goes on from A's sequence, C.
Scenario three_requests() {
  Scenario scenario;
  scenario.model = "tiny-mamba2";
  scenario.requests = {{.id = "A", .prompt = {.tokens = 6}, .max_tokens = 9},
                       {.id = "B", .prompt = {.tokens = 9, .share = "A", .share_tokens = 8}},
                       {.id = "C", .prompt = {.tokens = 4}, .max_tokens = 5, .at_step = 4}};
  scenario.script = {{.step = 2, .accept = {{"A", 2}}},
                     {.step = 4, .budget = 3, .accept = {{"B", 1}, {"C", 1}}, .preempt = {"B"}}};
  return scenario;
}

TEST(ScenarioEdits, AScriptIsSplitIntoSingleThings) {
  const std::vector<ScriptStep> things = split_script({full_step()});
  ASSERT_EQ(things.size(), 10U);
  EXPECT_EQ(things[0], (ScriptStep{.step = 3, .budget = 5}));
  EXPECT_EQ(things[2], (ScriptStep{.step = 3, .accept = {{"B", 1}}}));
  EXPECT_EQ(things[7], (ScriptStep{.step = 3, .engine = EngineProfile::reference}));
  EXPECT_EQ(things[9], (ScriptStep{.step = 3, .policies = {NoDraftStep::column_zero}}));
}

TEST(ScenarioEdits, JoinedThingsAreTheScriptAgain) {
  const std::vector<ScriptStep> script = {full_step(), {.step = 5, .abort = {"A"}}};
  EXPECT_EQ(join_script(split_script(script)), script);
}

TEST(ScenarioEdits, ARequestGoesWithWhatTheScriptSaysOfIt) {
  const Scenario smaller = without_requests(three_requests(), {.first = 0, .count = 1});
  ASSERT_EQ(smaller.requests.size(), 2U);
  EXPECT_EQ(smaller.requests[0].id, "B");
  ASSERT_EQ(smaller.script.size(), 1U);  // step 2 said nothing of anybody else
  EXPECT_THAT(smaller.script[0].accept, ElementsAre(RequestCount{"B", 1}, RequestCount{"C", 1}));
}

TEST(ScenarioEdits, SharingWithAnAbsentRequestIsSharingWithATextOfThatName) {
  const Scenario smaller = without_requests(three_requests(), {.first = 0, .count = 1});
  EXPECT_EQ(smaller.requests[0].prompt, (PromptSpec{.tokens = 9, .share = "A", .share_tokens = 8}));
  EXPECT_EQ(without_sharing(smaller, {.first = 0, .count = 1}).requests[0].prompt,
            PromptSpec{.tokens = 9});
}

TEST(ScenarioEdits, AnEntryOfWhichNothingIsLeftIsGone) {
  // Things: accept A 2 | budget 3, accept B, accept C, preempt B.
  const Scenario smaller = without_script(three_requests(), {.first = 0, .count = 2});
  ASSERT_EQ(smaller.script.size(), 1U);
  EXPECT_EQ(smaller.script[0].step, 4);
  EXPECT_EQ(smaller.script[0].budget, std::nullopt);
  EXPECT_EQ(smaller.script[0].preempt.size(), 1U);
}

TEST(ScenarioEdits, MethodAndKAreOneSetting) {
  EngineSettings settings;
  settings.block_size = 8;
  settings.speculative_method = SpeculativeMethod::mtp;
  settings.num_speculative_tokens = 2;
  const std::vector<const Setting*> rows = set_settings(settings);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]->name, "block_size");
  EXPECT_EQ(rows[1]->name, "num_speculative_tokens");
}

TEST(ScenarioEdits, TheSizeOfThePoolIsNoSettingThatIsLeftOut) {
  EngineSettings settings;
  settings.num_gpu_blocks_override = 8;
  EXPECT_THAT(set_settings(settings), IsEmpty());
  settings.kv_cache_memory_bytes = 1 << 20;  // of no use beside the number of blocks
  EXPECT_EQ(set_settings(settings).size(), 1U);
}

TEST(ScenarioEdits, WithoutDraftsTheScriptSaysNothingOfThem) {
  Scenario scenario = three_requests();
  scenario.settings.speculative_method = SpeculativeMethod::mtp;
  scenario.settings.num_speculative_tokens = 1;
  const Scenario smaller = without_settings(scenario, {.first = 0, .count = 1});
  EXPECT_EQ(smaller.settings, EngineSettings{});
  ASSERT_EQ(smaller.script.size(), 1U);
  EXPECT_EQ(smaller.script[0], (ScriptStep{.step = 4, .budget = 3, .preempt = {"B"}}));
}

TEST(ScenarioEdits, CountsAreCutToASmallerK) {
  Scenario scenario = three_requests();
  scenario.settings.num_speculative_tokens = 3;
  scenario.script[0].accept[0].count = 4;
  scenario.script[0].drafts = {{"A", 3}};
  const Scenario smaller = with_num_speculative_tokens(scenario, 1);
  EXPECT_EQ(smaller.settings.num_speculative_tokens, 1);
  EXPECT_EQ(smaller.script[0].accept[0].count, 2);
  EXPECT_EQ(smaller.script[0].drafts[0].count, 1);
}

// 20 policies differ between the profiles (docs/differences.md); one was set by hand and stays.
TEST(ScenarioEdits, AProfileIsReplacedByOneOfItsPolicies) {
  Scenario scenario = three_requests();
  scenario.settings.engine = EngineProfile::reference;
  scenario.settings.policies.set(RowClassing::by_meaning);
  const std::vector<Scenario> candidates = with_one_policy(scenario);
  EXPECT_EQ(candidates.size(), 20U);
  PolicyOverrides first;
  first.set(MambaEagleLookahead::longer_limit);
  first.set(RowClassing::by_meaning);
  EXPECT_EQ(candidates.front().settings.policies, first);
  EXPECT_EQ(candidates.front().settings.engine, std::nullopt);
  EXPECT_THAT(with_one_policy(three_requests()), IsEmpty());
}

// What a day's profile is depends on the runner.
TEST(ScenarioEdits, ADaysProfileIsReplacedByOneOfItsPolicies) {
  Scenario scenario = three_requests();
  scenario.settings.engine = EngineProfile::vllm(CalendarDate{2026, 8, 20});
  const auto has = [&](const auto& wanted) {
    return std::ranges::any_of(with_one_policy(scenario), [&](const Scenario& one) {
      return one.settings.engine == std::nullopt && one.settings.policies == wanted;
    });
  };
  PolicyOverrides v1_only;
  v1_only.set(AcceptedCountOwner::persistent_row);
  EXPECT_TRUE(has(v1_only));
  scenario.settings.runner = ModelRunner::v2;
  EXPECT_FALSE(has(v1_only));
  PolicyOverrides both;
  both.set(NoDraftStep::column_zero);
  EXPECT_TRUE(has(both));
}

TEST(ScenarioEdits, DrawsStandInTheScriptButThoseThatACertainRateGives) {
  Scenario scenario = three_requests();
  scenario.script.clear();
  scenario.settings.seed = 7;
  const std::vector<Draw> draws = {{.step = 2, .request = "A", .count = 1, .most = 3},
                                   {.step = 3, .request = "A", .count = 3, .most = 3},
                                   {.step = 5, .request = "C", .count = 2, .most = 3}};
  const Scenario none = with_scripted_draws(scenario, draws, std::nullopt);
  EXPECT_EQ(split_script(none.script).size(), 3U);
  EXPECT_EQ(none.settings, EngineSettings{});
  const Scenario nothing_accepted = with_scripted_draws(scenario, draws, 0);
  EXPECT_EQ(nothing_accepted.settings.acceptance_rate, 0.0);
  EXPECT_THAT(nothing_accepted.script, ElementsAre(ScriptStep{.step = 3, .accept = {{"A", 3}}},
                                                   ScriptStep{.step = 5, .accept = {{"C", 2}}}));
  const Scenario all_accepted = with_scripted_draws(scenario, draws, 1);
  EXPECT_THAT(all_accepted.script, ElementsAre(ScriptStep{.step = 2, .accept = {{"A", 1}}},
                                               ScriptStep{.step = 5, .accept = {{"C", 2}}}));
}

TEST(ScenarioEdits, DrawnLengthsOfDraftListsAreScriptedWhateverTheRate) {
  const std::vector<Draw> draws = {
      {.kind = Draw::Kind::num_drafts, .step = 2, .request = "A", .count = 0, .most = 2}};
  Scenario scenario = three_requests();
  scenario.script.clear();
  EXPECT_THAT(with_scripted_draws(scenario, draws, 0).script,
              ElementsAre(ScriptStep{.step = 2, .drafts = {{"A", 0}}}));
}

TEST(ScenarioEdits, WhatIsBehindTheViolationIsCut) {
  const std::vector<std::int32_t> outputs = {3, 0, 0};
  const Scenario cut = cut_behind(three_requests(), 3, outputs, 1);
  EXPECT_EQ(cut.requests[0].max_tokens, 4);  // 3 + 1
  EXPECT_EQ(cut.requests[1].max_tokens, 1);
  EXPECT_EQ(cut.requests[2].max_tokens, 1);  // one at least
  ASSERT_EQ(cut.script.size(), 1U);
  EXPECT_EQ(cut.script[0].step, 2);
}

// Reduces `list` to the required elements; records each try as "first+count".
std::vector<std::string> reduce(std::string& list, const std::string& has_to_stay) {
  std::vector<std::string> tries;
  const auto drop = [&](std::size_t first, std::size_t count) {
    tries.push_back(std::to_string(first) + "+" + std::to_string(count));
    std::string smaller = list;
    smaller.erase(first, count);
    for (const char c : has_to_stay)
      if (smaller.find(c) == std::string::npos) return false;
    list = smaller;
    return true;
  };
  reduce_list(list.size(), drop, [] { return true; });
  return tries;
}

TEST(ListReduction, AllOfItIsTriedFirst) {
  std::string list = "abcd";
  EXPECT_THAT(reduce(list, ""), ElementsAre("0+4"));
  EXPECT_EQ(list, "");
}

TEST(ListReduction, HalvesThenSingleElementsTheLastFirst) {
  std::string list = "abcd";
  // abcd stays, cd goes; of ab b stays, a goes.
  EXPECT_THAT(reduce(list, "b"), ElementsAre("0+4", "2+2", "0+2", "1+1", "0+1"));
  EXPECT_EQ(list, "b");
}

TEST(ListReduction, EachElementThatCanGoAloneIsGone) {
  std::string list = "abcdefgh";
  reduce(list, "ah");
  EXPECT_EQ(list, "ah");
}

TEST(ListReduction, EndsWhenNothingMoreIsWanted) {
  int tries = 0;
  const auto drop = [&](std::size_t, std::size_t) {
    ++tries;
    return false;
  };
  EXPECT_FALSE(reduce_list(8, drop, [&] { return tries < 3; }));
  EXPECT_EQ(tries, 3);
}

TEST(ListReduction, AnEmptyListHasNothingToTry) {
  EXPECT_FALSE(reduce_list(
      0, [](std::size_t, std::size_t) { return true; }, [] { return true; }));
}

using ::testing::Pair;

std::vector<std::pair<std::int64_t, std::int64_t>> values(const Scenario& scenario) {
  std::vector<std::pair<std::int64_t, std::int64_t>> values;
  for (const ScenarioNumber& number : scenario_numbers(scenario))
    values.emplace_back(number.value, number.least);
  return values;
}

Scenario scenario_of(std::vector<ScenarioRequest> requests) {
  Scenario scenario;
  scenario.model = "tiny-mamba2";
  scenario.requests = std::move(requests);
  return scenario;
}

TEST(ScenarioNumbers, TheSmallestScenarioHasNone) {
  EXPECT_THAT(values(scenario_of({{.id = "A", .prompt = {.tokens = 1}}})), IsEmpty());
}

TEST(ScenarioNumbers, AShorterPromptSharesNoMoreThanItHas) {
  const Scenario scenario =
      scenario_of({{.id = "A", .prompt = {.tokens = 9, .share = "text", .share_tokens = 8}}});
  const std::vector<ScenarioNumber> numbers = scenario_numbers(scenario);
  ASSERT_EQ(numbers.size(), 2U);  // tokens, shared tokens
  EXPECT_EQ(numbers[0].set(scenario, 4).requests[0].prompt,
            (PromptSpec{.tokens = 4, .share = "text", .share_tokens = 4}));
  EXPECT_EQ(numbers[1].set(scenario, 3).requests[0].prompt,
            (PromptSpec{.tokens = 9, .share = "text", .share_tokens = 3}));
}

// Something happens at steps 1, 4 and 6.
TEST(ScenarioNumbers, StepsMoveWithEverythingBehindThemOrAlone) {
  Scenario scenario = scenario_of(
      {{.id = "A", .prompt = {.tokens = 1}}, {.id = "B", .prompt = {.tokens = 1}, .at_step = 4}});
  scenario.script = {{.step = 6, .preempt = {"B"}}};
  EXPECT_THAT(values(scenario), ElementsAre(Pair(4, 1), Pair(6, 4), Pair(4, 1), Pair(6, 1)));
  const std::vector<ScenarioNumber> numbers = scenario_numbers(scenario);
  const Scenario together = numbers[0].set(scenario, 2);
  EXPECT_EQ(together.requests[1].at_step, 2);
  EXPECT_EQ(together.script[0].step, 4);
  const Scenario alone = numbers[2].set(scenario, 2);
  EXPECT_EQ(alone.requests[1].at_step, 2);
  EXPECT_EQ(alone.script[0].step, 6);
}

TEST(ScenarioNumbers, EntriesOfAScriptKeepTheirOrder) {
  Scenario scenario = scenario_of({{.id = "A", .prompt = {.tokens = 1}}});
  scenario.script = {{.step = 2, .budget = 1}, {.step = 3, .budget = 1}};
  // 2 > 1 with all behind it; 3 stays behind 2; 2 > 1 alone.
  EXPECT_THAT(values(scenario), ElementsAre(Pair(2, 1), Pair(2, 1)));
}

TEST(ScenarioNumbers, APriorityGoesTo0FromEitherSide) {
  const Scenario scenario = scenario_of({{.id = "A", .prompt = {.tokens = 1}, .priority = -5}});
  const std::vector<ScenarioNumber> numbers = scenario_numbers(scenario);
  ASSERT_EQ(numbers.size(), 1U);
  EXPECT_EQ(numbers[0].set(scenario, 2).requests[0].priority, -2);
}

TEST(ScenarioNumbers, SettingsOfWholeNumbersButNotTheSeed) {
  Scenario scenario = scenario_of({{.id = "A", .prompt = {.tokens = 1}}});
  scenario.settings.num_gpu_blocks_override = 16;
  scenario.settings.num_speculative_tokens = 3;
  scenario.settings.seed = 99;
  scenario.settings.acceptance_rate = 0.5;
  // The pool has at least 2 blocks; K = 0 would mean leaving out the setting.
  EXPECT_THAT(values(scenario), ElementsAre(Pair(16, 2), Pair(3, 1)));
}

TEST(ScenarioNumbers, CountsOfTheScriptGoToWhatAcceptsAndDraftsLeast) {
  Scenario scenario = scenario_of({{.id = "A", .prompt = {.tokens = 1}}});
  scenario.settings.num_speculative_tokens = 1;
  scenario.script = {{.step = 1, .accept = {{"A", 2}}, .drafts = {{"A", 1}}}};
  EXPECT_THAT(values(scenario), ElementsAre(Pair(2, 1), Pair(1, 0)));
}

}  // namespace

}  // namespace hybridscope::scenario_edits_test
