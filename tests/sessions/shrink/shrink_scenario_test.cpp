#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/engine/batch_metadata_policies.h"
#include "core/engine/worker_policies.h"
#include "sessions/run/run_summary.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/shrink/probe_run.h"
#include "sessions/shrink/scenario_edits.h"
#include "sessions/shrink/shrink_scenario.h"
#include "tests/support/property.h"

namespace hybridscope::shrink_scenario_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Scenario shipped(const std::string& name) {
  Scenario scenario =
      read_scenario_file(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/" + name + ".json")
          .value();
  scenario.settings.engine = EngineProfile::reference;
  return scenario;
}

ShrunkScenario shrink(const Scenario& scenario, const ShrinkOptions& options = {}) {
  return shrink_scenario(scenario, options).value();
}

// Three requests, commands, a shared prefix, drafts by the seed. Under `reference` a prompt of one
// token is taken for a decode row, which reads a state that was never written.
Scenario crowded() {
  Scenario scenario;
  scenario.name = "crowded";
  scenario.teaches = "much at once";
  scenario.model = "tiny-gdn";
  scenario.settings.block_size = 8;
  scenario.settings.num_gpu_blocks_override = 40;
  scenario.settings.max_model_len = 64;
  scenario.settings.max_num_seqs = 4;
  scenario.settings.engine = EngineProfile::reference;
  scenario.requests = {
      {.id = "A", .prompt = {.tokens = 12}, .max_tokens = 9},
      {.id = "B", .prompt = {.tokens = 1}, .max_tokens = 6, .at_step = 4, .arrival_us = 9},
      {.id = "C", .prompt = {.tokens = 20, .share = "A", .share_tokens = 16}, .at_step = 9}};
  scenario.script = {{.step = 2, .budget = 5}, {.step = 5, .preempt = {"A"}}};
  return scenario;
}

// One prompt of one token, one output token, one policy; nothing happens before it.
TEST(ShrinkScenario, WhatTheFindingDoesNotNeedIsGone) {
  const ShrunkScenario shrunk = shrink(crowded());
  EXPECT_EQ(shrunk.end, ShrinkEnd::smallest);
  EXPECT_EQ(shrunk.rule, Rule::read_of_unwritten_block);
  EXPECT_EQ(shrunk.violation_step, 1);
  ScenarioRequest b;
  b.id = "B";
  b.prompt.tokens = 1;
  EXPECT_THAT(shrunk.scenario.requests, ElementsAre(b));
  EXPECT_THAT(shrunk.scenario.script, IsEmpty());
  EngineSettings left = shrunk.scenario.settings;
  EXPECT_LT(left.num_gpu_blocks_override, 8);
  left.num_gpu_blocks_override.reset();
  EngineSettings by_shape;
  by_shape.policies.set(RowClassing::by_shape);
  EXPECT_EQ(left, by_shape);
}

TEST(ShrinkScenario, SizesBeforeAndAfterAreTraced) {
  const ShrunkScenario shrunk = shrink(crowded());
  EXPECT_EQ(shrunk.size_before.requests, 3);
  EXPECT_EQ(shrunk.size_before.script_things, 2);
  EXPECT_EQ(shrunk.size_before.shared_prompts, 1);
  EXPECT_EQ(shrunk.size_before.violation_step, 4);  // B joins there
  EXPECT_EQ(shrunk.size_before.settings, 4);        // without the size of the pool
  EXPECT_EQ(shrunk.size_after.requests, 1);
  EXPECT_EQ(shrunk.size_after.settings, 1);
  EXPECT_EQ(shrunk.size_after.violation_step, 1);
  EXPECT_EQ(count_tokens(crowded()), (ScenarioTokens{.prompt = 33, .output = 16}));
}

TEST(ShrinkScenario, TheFileSaysWhatItsRunFinds) {
  const ShrunkScenario shrunk = shrink(crowded());
  ASSERT_TRUE(shrunk.scenario.expect.findings);
  EXPECT_THAT(
      *shrunk.scenario.expect.findings,
      ElementsAre(ExpectedFinding{.rule = "read-of-unwritten-block", .step = 1, .request = "B"}));
  EXPECT_EQ(shrunk.scenario.name, "crowded");
  EXPECT_EQ(shrunk.scenario.teaches, "");  // it described another run
}

// A and C decode with a draft each; the budget of step 3 is spent by A, so C is skipped and the row
// of V1 forgets that C accepted two tokens in step 2.
TEST(ShrinkScenario, DrawsOfTheSeedBecomeCountsOfTheScript) {
  const ShrunkScenario shrunk = shrink(shipped("starved_request"));
  EXPECT_EQ(shrunk.size_before.draws, 4);
  EXPECT_EQ(shrunk.size_after.draws, 0);
  EXPECT_EQ(shrunk.scenario.settings.acceptance_rate, 0.0);
  EXPECT_THAT(shrunk.scenario.script, ElementsAre(ScriptStep{.step = 2, .accept = {{"C", 2}}},
                                                  ScriptStep{.step = 3, .budget = 1}));
  EXPECT_THAT(shrunk.text, HasSubstr("holds the state of 2 tokens of C, expected 3"));
}

// Under pages a shorter prompt or a step without drafts would break the same rule for other
// reasons.
TEST(ShrinkScenario, TheProfileBecomesThePolicyAtFault) {
  const ShrunkScenario shrunk = shrink(shipped("skipped_for_a_step"));
  PolicyOverrides at_fault;
  at_fault.set(AcceptedCountOwner::persistent_row);
  EXPECT_EQ(shrunk.scenario.settings.policies, at_fault);
  EXPECT_EQ(shrunk.scenario.settings.engine, std::nullopt);
}

// In a release a step without drafts breaks the same rule (known bug 7) with one request.
TEST(ShrinkScenario, AReleaseKeepsThePolicyAtFault) {
  Scenario in_release = shipped("skipped_for_a_step");
  in_release.settings.engine = EngineProfile::vllm(Release::v0_31_0);
  in_release.settings.runner = ModelRunner::v1;
  in_release.settings.policies = {};
  const auto healed = [](const ShrunkScenario& shrunk) {
    Scenario scenario = shrunk.scenario;
    scenario.settings.policies.set(AcceptedCountOwner::request);
    return !probe_run(scenario, {.rule = shrunk.rule}).value().violation;
  };
  const ShrunkScenario shrunk = shrink(in_release);
  EXPECT_EQ(shrunk.cause.key, "skipped-step-forgets-accepted-count");
  EXPECT_TRUE(healed(shrunk));
}

TEST(ShrinkScenario, NoErrorComesBeforeTheKeptOneThatDidNotBefore) {
  for (const char* name : {"skipped_for_a_step", "steps_without_drafts", "starved_request"}) {
    const ShrunkScenario shrunk = shrink(shipped(name));
    const ProbedRun run = probe_run(shrunk.scenario, {}).value();  // any error
    ASSERT_TRUE(run.violation) << name;
    EXPECT_EQ(run.violation->finding.rule, Rule::running_state_wrong) << name;
  }
}

TEST(ShrinkScenario, ARuleThatComesLaterIsKeptWhenAskedFor) {
  const Scenario scenario = shipped("multi_turn_with_drafts");
  EXPECT_EQ(shrink(scenario).rule, Rule::hit_longer_than_group);
  const ShrunkScenario shrunk = shrink(scenario, {.rule = Rule::label_mismatch});
  EXPECT_EQ(shrunk.rule, Rule::label_mismatch);
  EXPECT_EQ(probe_run(shrunk.scenario, {.rule = Rule::label_mismatch}).value().violation->text,
            shrunk.text);
}

// The budget holds A's token with its two drafts and B's token.
TEST(ShrinkScenario, AWarningIsKeptWhenAskedFor) {
  const ShrunkScenario shrunk =
      shrink(shipped("budget_cuts_drafts_to_zero"), {.rule = Rule::drafts_cut});
  EXPECT_THAT(shrunk.scenario.script, ElementsAre(ScriptStep{.step = 2, .budget = 4}));
  EXPECT_THAT(*shrunk.scenario.expect.findings,
              ElementsAre(ExpectedFinding{.rule = "drafts-cut", .step = 2, .request = "B"}));
}

TEST(ShrinkScenario, WithoutTheFindingThereIsNothingToShrink) {
  Scenario scenario = crowded();
  scenario.settings.engine.reset();
  const auto none = shrink_scenario(scenario, {});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind, ErrorKind::not_found);
  EXPECT_EQ(none.error().message, "no finding of severity error");
  const auto other = shrink_scenario(crowded(), {.rule = Rule::no_progress});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().message, "no finding no-progress");
}

TEST(ShrinkScenario, AFindingWithoutAKnownCauseIsAskedForByAnEmptyOne) {
  const auto none = shrink_scenario(crowded(), {.cause = ""});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind, ErrorKind::not_found);
  EXPECT_EQ(none.error().message, "no finding of severity error whose cause is not known");
}

// C is skipped in step 3 (known bug 48); Z's prompt of one token runs as a decode in step 6.
TEST(ShrinkScenario, TheFindingOfTheCauseThatIsAskedForIsKept) {
  Scenario scenario = shipped("starved_request");
  ScenarioRequest z;
  z.id = "Z";
  z.prompt.tokens = 1;
  z.max_tokens = 4;
  z.at_step = 6;
  scenario.requests.push_back(z);
  const ShrunkScenario as_given =
      shrink(scenario, {.cause = "chunk-tail-runs-as-decode", .max_runs = 1});
  EXPECT_EQ(as_given.violation_step, 6);
  EXPECT_THAT(as_given.text, HasSubstr("read-of-unwritten-block: step 6 Z"));
  const ShrunkScenario smallest = shrink(scenario, {.cause = "chunk-tail-runs-as-decode"});
  EXPECT_EQ(smallest.cause.key, "chunk-tail-runs-as-decode");
  ASSERT_EQ(smallest.scenario.requests.size(), 1U);
  EXPECT_EQ(smallest.scenario.requests[0].id, "Z");
  EXPECT_EQ(shrink(scenario).cause.key, "skipped-step-forgets-accepted-count");
}

TEST(ShrinkScenario, AnImpossibleScenarioIsRefusedWithItsPlace) {
  Scenario scenario = crowded();
  scenario.settings.max_num_seqs = 1;
  scenario.settings.num_gpu_blocks_override = 3;
  const auto refused = shrink_scenario(scenario, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::invalid_input);
  EXPECT_THAT(refused.error().message, HasSubstr("/requests/"));
}

TEST(ShrinkScenario, TheLimitOfRunsLeavesTheSmallestSoFar) {
  const ShrunkScenario shrunk = shrink(crowded(), {.max_runs = 4});
  EXPECT_EQ(shrunk.end, ShrinkEnd::run_limit);
  EXPECT_EQ(shrunk.num_runs, 4);
  EXPECT_LT(shrunk.size_after, shrunk.size_before);
  EXPECT_TRUE(probe_run(shrunk.scenario, {.rule = shrunk.rule}).value().violation);
}

TEST(ShrinkScenario, AnInterruptLeavesTheSmallestSoFar) {
  ShrinkOptions options;
  options.go_on = [](const ShrinkProgress& progress) { return progress.num_runs <= 3; };
  const ShrunkScenario shrunk = shrink(crowded(), options);
  EXPECT_EQ(shrunk.end, ShrinkEnd::interrupted);
  EXPECT_EQ(shrunk.num_runs, 4);  // the fourth was broken off
  EXPECT_TRUE(probe_run(shrunk.scenario, {.rule = shrunk.rule}).value().violation);
}

TEST(ShrinkScenario, AnInterruptBeforeTheFindingLeavesNothing) {
  ShrinkOptions options;
  options.go_on = [](const ShrinkProgress&) { return false; };
  const auto none = shrink_scenario(crowded(), options);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message, "interrupted: no finding of severity error until then");
}

// Counts of requests that lost their rows are gathered from other rows (no. 9). Padded prompts (no.
// 8b, request "one") and other faults of the release break the same rule in smaller scenarios.
const std::string kUnderPressure =
    R"({"version": 1, "model": "qwen3-next-80b-a3b", "settings": {"max_model_len": 8192, "num_gpu_blocks_override": 64, "max_num_seqs": 8, 
  "max_num_batched_tokens": 1200, "long_prefill_token_threshold": 600, 
  "gdn_prefill_backend": "flashinfer", "speculative_config": {"method": "mtp", "num_speculative_tokens": 2}},
  "requests": [
    {"id": "sys0", "prompt": {"tokens": 1700, "share": "system", "share_tokens": 1130}, "max_tokens": 60, "at_step": 1},
    {"id": "sys1", "prompt": {"tokens": 1737, "share": "system", "share_tokens": 1130}, "max_tokens": 60, "at_step": 3},
    {"id": "sys2", "prompt": {"tokens": 1774, "share": "system", "share_tokens": 1130}, "max_tokens": 60, "at_step": 5},
    {"id": "sys3", "prompt": {"tokens": 1811, "share": "system", "share_tokens": 1130}, "max_tokens": 60, "at_step": 7},
    {"id": "sys4", "prompt": {"tokens": 1848, "share": "system", "share_tokens": 1130}, "max_tokens": 60, "at_step": 9},
    {"id": "sys5", "prompt": {"tokens": 1885, "share": "system", "share_tokens": 1130}, "max_tokens": 60, "at_step": 11},
    {"id": "one", "prompt": 1, "max_tokens": 20, "at_step": 4},
    {"id": "turn2", "prompt": {"tokens": 2400, "share": "sys0", "share_tokens": 1755}, "max_tokens": 30, "at_step": 40}],
  "script": [{"step": 9, "preempt": ["sys1"]}]})";

TEST(ShrinkScenario, KeepsTheCauseOfTheChain) {
  Scenario scenario = parse_scenario({.text = kUnderPressure, .file = "pressure.json"}).value();
  scenario.settings.engine = EngineProfile::vllm(Release::v0_33_0);
  scenario.settings.runner = ModelRunner::v1;
  const ShrunkScenario shrunk =
      shrink(scenario, {.rule = Rule::running_state_wrong, .max_runs = 400});
  EXPECT_EQ(shrunk.cause.key, "align-counts-permuted-twice");
  EXPECT_LT(shrunk.size_after.requests, shrunk.size_before.requests);
  const auto plan = plan_scenario(shrunk.scenario, "shrunk").value();
  const ProbedRun run = probe_run(shrunk.scenario, {.rule = shrunk.rule}).value();
  ASSERT_TRUE(run.violation);
  EXPECT_EQ(find_cause(plan, run.violation->root).key, "align-counts-permuted-twice");
}

// Random small scenarios under the reference's policies: what is shrunk shows the same rule, is a
// valid file, is not larger, and cannot be shrunk further.

using test::draw;
using test::one_in;

ScenarioRequest draw_request(std::size_t index) {
  ScenarioRequest request;
  request.id = std::string(1, static_cast<char>('A' + index));
  request.prompt.tokens = one_in(4) ? 1 : draw(1, 20);
  if (one_in(3)) {
    request.prompt.share = index > 0 && one_in(2) ? "A" : "text";
    request.prompt.share_tokens = draw(1, request.prompt.tokens);
  }
  request.max_tokens = draw(1, 10);
  request.at_step = one_in(2) ? 1 : draw(1, 8);
  return request;
}

ScriptStep draw_step(std::int32_t step, const Scenario& scenario) {
  ScriptStep script;
  script.step = step;
  for (const ScenarioRequest& request : scenario.requests) {
    if (request.at_step > step) continue;
    const std::int32_t k = scenario.settings.num_speculative_tokens.value_or(0);
    if (k > 0 && one_in(2)) script.accept.push_back({request.id, draw(1, 1 + k)});
    if (one_in(8)) script.preempt.push_back(request.id);
  }
  if (one_in(2) || script == ScriptStep{.step = step}) script.budget = draw(1, 16);
  return script;
}

Scenario draw_scenario() {
  Scenario scenario;
  scenario.model = one_in(2) ? "tiny-mamba2" : "tiny-gdn";
  EngineSettings& settings = scenario.settings;
  settings.block_size = 4 * draw(1, 2);
  settings.num_gpu_blocks_override = draw(16, 40);
  settings.max_num_batched_tokens = 16;
  settings.async_scheduling = one_in(2);
  settings.mamba_cache_mode = one_in(3) ? MambaCacheMode::none : MambaCacheMode::align;
  if (one_in(4)) settings.runner = ModelRunner::v2;
  if (const std::int32_t k = draw(0, 3); k > 0) settings.num_speculative_tokens = k;
  settings.seed = draw(0, 1000);
  if (one_in(2))
    settings.engine = EngineProfile::reference;
  else if (one_in(2))
    settings.policies.set(RowClassing::by_shape);
  else
    settings.policies.set(AcceptedCountOwner::persistent_row);
  const std::int32_t num_requests = draw(1, 4);
  for (std::int32_t i = 0; i < num_requests; ++i)
    scenario.requests.push_back(draw_request(static_cast<std::size_t>(i)));
  for (std::int32_t step = draw(1, 4); step < 10; step += draw(1, 4))
    scenario.script.push_back(draw_step(step, scenario));
  return scenario;
}

// Everything that a run finds is expected, and everything expected occurs.
bool meets_expectation(const Scenario& scenario) {
  const ProbedRun run = probe_run(scenario, {}).value();
  return scenario.expect.findings == run.found;
}

void check_shrunk(const Scenario& scenario) {
  const ShrunkScenario shrunk = shrink_scenario(scenario, {}).value();
  RC_ASSERT(shrunk.end == ShrinkEnd::smallest);
  const auto read = parse_scenario({.text = write_scenario(shrunk.scenario), .file = "shrunk"});
  RC_ASSERT(read.ok());
  RC_ASSERT(read.value() == shrunk.scenario);
  RC_ASSERT(probe_run(scenario, {}).value().violation->finding.rule == shrunk.rule);
  const ProbedRun run = probe_run(shrunk.scenario, {.rule = shrunk.rule}).value();
  RC_ASSERT(run.violation.has_value());
  RC_ASSERT(run.violation->text == shrunk.text);
  RC_ASSERT(meets_expectation(shrunk.scenario));
  RC_ASSERT(shrunk.size_after <= shrunk.size_before);
  RC_ASSERT(shrunk.size_after.steps <= shrunk.size_before.steps);
  RC_ASSERT(shrunk.size_after.violation_step <= shrunk.size_before.violation_step);
  RC_ASSERT(count_tokens(shrunk.scenario).prompt <= count_tokens(scenario).prompt);
  RC_ASSERT(count_tokens(shrunk.scenario).output <= count_tokens(scenario).output);
  const ShrunkScenario again = shrink_scenario(shrunk.scenario, {.rule = shrunk.rule}).value();
  RC_ASSERT(again.scenario == shrunk.scenario);
}

TEST(ShrinkProperty, WhatIsShrunkShowsTheSameIsValidIsNotLargerAndIsTheSmallest) {
  int shrunk = 0;
  test::check_property(25, [&] {
    const Scenario scenario = draw_scenario();
    if (!check_scenario(scenario).ok()) return;
    const auto run = probe_run(scenario, {});
    if (!run.ok() || !run.value().violation) return;
    RC_LOG() << write_scenario(scenario);
    check_shrunk(scenario);
    ++shrunk;
  });
  EXPECT_GE(shrunk, 5);  // else the scenarios say little
}

}  // namespace

}  // namespace hybridscope::shrink_scenario_test
