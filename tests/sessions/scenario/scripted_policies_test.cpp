#include "sessions/scenario/scripted_policies.h"

#include <gmock/gmock.h>

#include "core/caching/hybrid_coordinator_policies.h"
#include "core/engine/aligned_split_policies.h"
#include "core/engine/batch_metadata_policies.h"
#include "core/engine/policy_table.h"
#include "core/engine/row_inputs_policies.h"
#include "core/model/conv_state_sizing.h"
#include "sessions/run/run_plan.h"
#include "sessions/run/runner.h"
#include "sessions/scenario/scenario_reader.h"
#include "tests/sessions/run/scenario_run.h"

namespace hybridscope::scripted_policies_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
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
}  // namespace hybridscope::scripted_policies_test
