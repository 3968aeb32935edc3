#include "sessions/shrink/scenario_numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hybridscope::scenario_numbers_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
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
}  // namespace hybridscope::scenario_numbers_test
