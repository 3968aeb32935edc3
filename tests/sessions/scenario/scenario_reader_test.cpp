#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/caching/hybrid_coordinator_policies.h"
#include "core/engine/aligned_split_policies.h"
#include "core/engine/batch_metadata_policies.h"
#include "core/engine/policy_table.h"
#include "core/engine/row_inputs_policies.h"
#include "core/model/model_policies.h"
#include "sessions/run/run_plan.h"
#include "sessions/run/runner.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/scenario/scenario_requests.h"
#include "tests/sessions/run/scenario_run.h"

namespace hybridscope::scenario_reader_test {
namespace {

using testing::HasSubstr;

using testing::ElementsAre;

Scenario parsed(std::string_view text) {
  Result<Scenario> scenario = parse_scenario({.text = text, .file = "s.json"});
  EXPECT_TRUE(scenario.ok()) << scenario.error().message;
  return scenario.ok() ? std::move(scenario).value() : Scenario{};
}

TEST(ScenarioReader, TheIssuesExampleFitsIn15Lines) {
  const Scenario scenario = parsed(R"({
  "version": 1,
  "model": "tiny-mamba2",
  "settings": {
    "mamba_cache_mode": "align",
    "block_size": 8,
    "num_gpu_blocks_override": 16,
    "speculative_config": {"method": "mtp", "num_speculative_tokens": 1}
  },
  "requests": [{"id": "A", "prompt": 6, "max_tokens": 4}],
  "script": [{"step": 2, "accept": {"A": 2}}],
  "expect": {"findings": "none"}
})");
  EXPECT_EQ(scenario.model, "tiny-mamba2");
  EXPECT_EQ(scenario.settings.mamba_cache_mode, MambaCacheMode::align);
  EXPECT_EQ(scenario.settings.block_size, 8);
  EXPECT_EQ(scenario.settings.num_gpu_blocks_override, 16);
  EXPECT_EQ(scenario.settings.speculative_method, SpeculativeMethod::mtp);
  EXPECT_EQ(scenario.settings.num_speculative_tokens, 1);
  EXPECT_THAT(scenario.requests,
              ElementsAre(ScenarioRequest{.id = "A", .prompt = {.tokens = 6}, .max_tokens = 4}));
  EXPECT_THAT(scenario.script, ElementsAre(ScriptStep{.step = 2, .accept = {{"A", 2}}}));
  EXPECT_EQ(scenario.expect, (Expectation{.findings = std::vector<ExpectedFinding>{}}));
}

TEST(ScenarioReader, ReadsEveryKeyOfARequest) {
  const Scenario scenario = parsed(R"({"version": 1, "model": "tiny-gdn", "requests": [
    {"id": "A", "prompt": {"tokens": 22, "share": "system", "share_tokens": 14}, "max_tokens": 9,
     "priority": -3, "at_step": 4, "arrival_us": 20000, "cache_salt": 7}]})");
  EXPECT_THAT(
      scenario.requests,
      ElementsAre(ScenarioRequest{.id = "A",
                                  .prompt = {.tokens = 22, .share = "system", .share_tokens = 14},
                                  .max_tokens = 9,
                                  .priority = -3,
                                  .at_step = 4,
                                  .arrival_us = 20000,
                                  .cache_salt = 7}));
}

TEST(ScenarioReader, SharingWithoutACountSharesTheWholePrompt) {
  const Scenario scenario = parsed(R"({"version": 1, "model": "tiny-gdn",
    "requests": [{"id": "A", "prompt": {"tokens": 10, "share": "text"}}]})");
  EXPECT_EQ(scenario.requests[0].prompt.share_tokens, 10);
  EXPECT_EQ(scenario.requests[0].max_tokens, 1);
}

// One token a byte, behind what is shared.
TEST(ScenarioReader, APromptMayBeAText) {
  const Scenario scenario = parsed(R"({"version": 1, "model": "tiny-gdn", "requests": [
    {"id": "A", "prompt": {"text": "#k7?k="}, "max_tokens": 4},
    {"id": "B", "prompt": {"text": "?k=", "share": "A", "share_tokens": 8}}]})");
  EXPECT_EQ(scenario.requests[0].prompt, (PromptSpec{.tokens = 6, .text = "#k7?k="}));
  EXPECT_EQ(scenario.requests[1].prompt,
            (PromptSpec{.tokens = 11, .share = "A", .share_tokens = 8, .text = "?k="}));
}

TEST(ScenarioReader, ATextSaysItsOwnLength) {
  const auto error_of = [](const char* prompt) {
    return parse_scenario({.text = std::string(R"({"version": 1, "model": "tiny-gdn", "requests": )"
                                               R"([{"id": "A", "prompt": )") +
                                   prompt + "}]}",
                           .file = "s.json"})
        .error()
        .message;
  };
  EXPECT_THAT(error_of(R"({"text": "ab", "tokens": 2})"),
              HasSubstr("/requests/0/prompt/tokens: tokens and text"));
  EXPECT_THAT(error_of(R"({"text": ""})"), HasSubstr("/requests/0/prompt/text: expected a text"));
  EXPECT_THAT(error_of(R"({"text": "ab", "share": "B"})"), HasSubstr("share_tokens"));
}

TEST(ScenarioReader, ReadsEveryKeyOfAScriptStep) {
  const Scenario scenario = parsed(R"({"version": 1, "model": "tiny-gdn",
    "settings": {"speculative_config": {"num_speculative_tokens": 3}},
    "requests": [{"id": "A", "prompt": 6}, {"id": "B", "prompt": 6}],
    "script": [
      {"step": 3, "budget": 3, "accept": {"B": 4, "A": 1}, "drafts": {"A": 0}},
      {"step": 5, "preempt": ["A"], "abort": ["B"], "reset_prefix_cache": true},
      {"step": 6, "reset_prefix_cache": {"running": true}},
      {"step": 7, "reset_prefix_cache": false}]})");
  EXPECT_THAT(
      scenario.script,
      ElementsAre(
          ScriptStep{.step = 3, .budget = 3, .accept = {{"A", 1}, {"B", 4}}, .drafts = {{"A", 0}}},
          ScriptStep{.step = 5,
                     .preempt = {"A"},
                     .abort = {"B"},
                     .reset_prefix_cache = PrefixCacheReset::unless_running},
          ScriptStep{.step = 6, .reset_prefix_cache = PrefixCacheReset::preempting_running},
          ScriptStep{.step = 7}));
}

TEST(ScenarioReader, ReadsExpectations) {
  const Scenario scenario = parsed(R"({"version": 1, "model": "tiny-gdn",
    "requests": [{"id": "A", "prompt": 6}],
    "expect": {"findings": [{"rule": "running-state-wrong", "step": 3, "request": "A"},
                            {"rule": "label-mismatch"}], "steps": 5, "finished": 1}})");
  EXPECT_EQ(scenario.expect,
            (Expectation{.findings = {{{.rule = "running-state-wrong", .step = 3, .request = "A"},
                                       {.rule = "label-mismatch"}}},
                         .steps = 5,
                         .finished = 1}));
}

TEST(ScenarioReader, WithoutExpectNothingIsExpected) {
  EXPECT_EQ(parsed(R"({"version": 1, "model": "tiny-gdn", "requests": [{"id": "A", "prompt": 6}]})")
                .expect,
            Expectation{});
}

TEST(ScenarioReader, IntegersMayBeWrittenAsWholeFloats) {
  const Scenario scenario = parsed(R"({"version": 1.0, "model": "tiny-gdn",
    "settings": {"block_size": 8.0, "cudagraph_capture_sizes": [1.0, 2]},
    "requests": [{"id": "A", "prompt": 6.0}]})");
  EXPECT_EQ(scenario.settings.block_size, 8);
  EXPECT_EQ(scenario.settings.cudagraph_capture_sizes, (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(scenario.requests[0].prompt.tokens, 6);
}

TEST(ScenarioReader, WithoutANameAScenarioIsCalledLikeItsFile) {
  const auto path = std::filesystem::path(testing::TempDir()) / "two_requests.json";
  for (const char* name : {"", R"("name": "", )", R"("name": "own", )"}) {
    std::ofstream(path) << R"({"version": 1, )" << name
                        << R"("model": "tiny-gdn", "requests": [{"id": "A", "prompt": 6}]})";
    const std::string expected = std::string(name).ends_with("own\", ") ? "own" : "two_requests";
    EXPECT_EQ(read_scenario_file(path.string()).value().name, expected);
  }
  std::filesystem::remove(path);
}

TEST(ScenarioReader, ADirectoryIsNamedAsOne) {
  const auto scenario = read_scenario_file("/");
  EXPECT_EQ(scenario.error().kind, ErrorKind::io);
  EXPECT_EQ(scenario.error().message, "/: is a directory (expected a file)");
}

TEST(ScenarioReader, AFileThatIsNotThereIsAnIoError) {
  const auto scenario = read_scenario_file("/nowhere/s.json");
  EXPECT_EQ(scenario.error().kind, ErrorKind::io);
  EXPECT_EQ(scenario.error().message,
            "/nowhere/s.json: cannot be opened: No such file or directory");
}

using testing::Contains;
using testing::Not;

const std::string kRoot = HYBRIDSCOPE_SOURCE_DIR;

TEST(ScriptedPolicies, AStepWithoutPoliciesChangesNone) {
  ScriptedPolicies policies({});
  EXPECT_EQ(policies.change({.step = 3, .budget = 4}), std::nullopt);
}

TEST(ScriptedPolicies, WhatWasSaidOneByOneStaysOnTopOfTheProfile) {
  EngineSettings settings;
  settings.policies.set(AlignedSplit::every_chunk_on_grid);
  ScriptedPolicies policies(settings);
  policies.change({.step = 2, .policies = {RowClassing::by_meaning}});
  PolicySet expected = reference_policies();
  keep_caching_policies(expected, safe_policies());
  EXPECT_EQ(expected.get<ConvStateSizing>(), ConvStateSizing::as_reference);
  expected.set(ConvStateSizing::kernel_plus_spec);  // blocks are laid out by it
  expected.set(AlignedSplit::every_chunk_on_grid);
  expected.set(RowClassing::by_meaning);
  EXPECT_EQ(policies.change({.step = 4, .engine = EngineProfile::reference}), expected);
  expected = safe_policies();
  EXPECT_EQ(policies.change({.step = 5, .engine = EngineProfile::safe}), expected);
}

TEST(ScriptedPolicies, ANoteNamesThePoliciesThatAChangeOfProfileLeaves) {
  EngineSettings settings;
  settings.policies.set(FullAttentionCut::first_spec_group);
  EXPECT_THAT(
      scripted_policy_notes(settings, {{.step = 2, .budget = 1},
                                       {.step = 7, .engine = EngineProfile::reference},
                                       {.step = 9, .engine = EngineProfile::safe}}),
      ElementsAre(
          "step 7 changes the profile to reference, but policies by which blocks are cached or "
          "laid "
          "out cannot change while an engine runs: mamba_eagle_lookahead is none, not "
          "longer_limit, "
          "block_registration is planned_then_published, not at_allocation, "
          "reachable_boundaries is replay_and_block_before_junction, not prompt_end, "
          "hits_inside_blocks is with_smaller_hash_blocks, not never, prompt_tail_key is "
          "at_replay_position_once, not never, prefill_checkpoint is as_states_retained, not "
          "never, conv_state_sizing is kernel_plus_spec, not as_reference"));
}

// The fault of docs/differences.md, which this scenario shows in step 3.
TEST(ScriptedPolicies, HoldFromTheirStepOn) {
  const Scenario scenario =
      read_scenario_file(kRoot + "/scenarios/steps_without_drafts.json").value();
  PolicyOverrides column_zero;
  column_zero.set(NoDraftStep::column_zero);
  Scenario from_3 = scenario;
  from_3.script[1].policies = column_zero;
  Scenario from_4 = scenario;
  from_4.script.push_back({.step = 4, .policies = column_zero});
  const std::string fault = "running-state-wrong step 3 request 0: expected 8, seen 6 ";
  EXPECT_THAT(test::run_scenario(from_3).findings, Contains(fault));
  EXPECT_THAT(test::run_scenario(from_4).findings, Not(Contains(fault)));
}

TEST(ScriptedPolicies, TheTraceTellsOfTheChange) {
  const Scenario scenario =
      parse_scenario({.text = R"({"version": 1, "name": "n", "model": "tiny-mamba2",
          "settings": {"block_size": 8, "num_gpu_blocks_override": 16, "max_model_len": 64},
          "requests": [{"id": "A", "prompt": 6, "max_tokens": 4}],
          "script": [{"step": 2, "budget": 4, "engine": "reference"}]})",
                      .file = "s.json"})
          .value();
  RunPlan plan = plan_scenario(scenario, "s.json").value();
  EXPECT_THAT(plan.notes, Contains(testing::StartsWith("step 2 changes the profile to reference")));
  Runner runner = Runner::create(std::move(plan)).value();
  ASSERT_TRUE(runner.step().ok());
  const StepTrace& trace = *runner.step().value();
  ASSERT_EQ(trace.commands.size(), 2u);
  EXPECT_EQ(trace.commands[0].command, CommandKind::set_policies);
  EXPECT_EQ(trace.commands[1].command, CommandKind::set_step_budget);
  EXPECT_EQ(runner.engine().config().policies.get<RowClassing>(), RowClassing::by_shape);
  PolicySet kept = runner.engine().config().policies;
  keep_caching_policies(kept, safe_policies());
  EXPECT_EQ(runner.engine().config().policies, kept);
}

}  // namespace

}  // namespace hybridscope::scenario_reader_test
