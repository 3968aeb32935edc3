#include "sessions/shrink/probe_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sessions/scenario/scenario_reader.h"

namespace hybridscope::probe_run_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A prompt of 6 tokens, then two verify steps: the first accepts 2 tokens by script, the second
// what is drawn.
Scenario one_request() {
  Scenario scenario;
  scenario.model = "tiny-mamba2";
  scenario.settings.block_size = 8;
  scenario.settings.num_gpu_blocks_override = 16;
  scenario.settings.max_model_len = 64;
  scenario.settings.async_scheduling = false;
  scenario.settings.num_speculative_tokens = 1;
  scenario.requests = {{.id = "A", .prompt = {.tokens = 6}, .max_tokens = 4}};
  scenario.script = {{.step = 2, .accept = {{"A", 2}}}};
  return scenario;
}

Scenario starved() {
  Scenario scenario =
      read_scenario_file(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/starved_request.json")
          .value();
  scenario.settings.engine = EngineProfile::reference;
  return scenario;
}

TEST(ProbeRun, WhatTheScriptDecidesIsNotDrawn) {
  const ProbedRun run = probe_run(one_request(), {}).value();
  ASSERT_FALSE(run.draws.empty());
  const Draw& first = run.draws.front();
  EXPECT_EQ(first.kind, Draw::Kind::accepted);
  EXPECT_EQ(first.step, 3);
  EXPECT_EQ(first.request, "A");
  EXPECT_EQ(first.most, 2);  // the bonus token and one draft
}

TEST(ProbeRun, ARateOf0Or1LeavesNothingToDraw) {
  for (const double rate : {0.0, 1.0}) {
    Scenario scenario = one_request();
    scenario.settings.acceptance_rate = rate;
    EXPECT_THAT(probe_run(scenario, {}).value().draws, IsEmpty()) << rate;
  }
}

TEST(ProbeRun, TheLengthOfAnNgramDraftListIsDrawnWhateverTheRate) {
  Scenario scenario = one_request();
  scenario.settings.speculative_method = SpeculativeMethod::ngram;
  scenario.settings.acceptance_rate = 0.0;
  scenario.script.clear();
  scenario.requests[0].max_tokens = 2;  // the prompt's step and one more
  const ProbedRun run = probe_run(scenario, {}).value();
  ASSERT_EQ(run.draws.size(), 1U);
  EXPECT_EQ(run.draws[0].kind, Draw::Kind::num_drafts);
  EXPECT_EQ(run.draws[0].step, 2);
  EXPECT_EQ(run.draws[0].most, 1);
}

// C is wrong in step 4. By then A has output 1 + 1 + 1 + 2 tokens, C 1 + 2 + 2.
TEST(ProbeRun, DrawsAndOutputsAreThoseUpToTheViolation) {
  const ProbedRun run = probe_run(starved(), {.rule = Rule::running_state_wrong}).value();
  ASSERT_TRUE(run.violation);
  EXPECT_EQ(run.violation->finding.step, 4);
  EXPECT_THAT(run.num_output_tokens, ElementsAre(5, 5));
  for (const Draw& draw : run.draws) EXPECT_LE(draw.step, 4);
}

// Rules in the order in which they were first met; of several findings of a rule, what they agree
// in.
TEST(ProbeRun, WhatIsFoundIsOneEntryARule) {
  const ProbedRun run = probe_run(starved(), {}).value();
  EXPECT_THAT(run.found,
              ElementsAre(ExpectedFinding{.rule = "running-state-wrong", .request = "C"},
                          ExpectedFinding{.rule = "label-mismatch", .step = 6, .request = "C"}));
}

TEST(ProbeRun, ErrorsThatComeBeforeTheRuleAreNamed) {
  const ProbedRun run = probe_run(starved(), {.rule = Rule::label_mismatch}).value();
  ASSERT_EQ(run.violation->finding.step, 6);
  ASSERT_FALSE(run.errors_before.empty());
  for (const std::string& error : run.errors_before)
    EXPECT_THAT(error, HasSubstr("running-state-wrong"));
  EXPECT_THAT(probe_run(starved(), {}).value().errors_before, IsEmpty());
}

TEST(ProbeRun, ALongerRunThanAllowedIsRefused) {
  const auto refused = probe_run(one_request(), {.max_steps = 2});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "the run has more than 2 steps");
}

TEST(ProbeRun, ARunThatIsBrokenOffSaysSo) {
  int steps = 0;
  ProbeOptions options;
  options.go_on = [&] { return ++steps <= 2; };
  const ProbedRun run = probe_run(one_request(), options).value();
  EXPECT_TRUE(run.stopped);
  EXPECT_EQ(run.num_steps, 2);
}

}  // namespace
}  // namespace hybridscope::probe_run_test
