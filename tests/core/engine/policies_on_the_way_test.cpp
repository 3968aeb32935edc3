// Policies that change while an engine runs: what they do to states is for the checker to find; the
// engine's own books stay in order.
#include <gtest/gtest.h>

#include "core/check/step_checker.h"
#include "core/engine/policy_overrides.h"
#include "core/engine/policy_table.h"
#include "core/engine/row_inputs_policies.h"
#include "sessions/run/step_judge.h"
#include "tests/core/engine/engine_scenario.h"
#include "tests/support/property.h"
#include "tests/support/small_engine.h"

namespace hybridscope::test::policies_on_the_way_test {
namespace {

// Goes from one profile to the other every `every` steps.
void run(const EngineScenario& scenario, int every) {
  constexpr int kMaxSteps = 300;  // the reference's policies may go round for ever
  Engine engine = Engine::create(scenario.config).value();
  StepChecker checker = StepChecker::create(make_check_config(scenario.config)).value();
  std::size_t next = 0;
  for (int step = 0; step < kMaxSteps; ++step) {
    for (; next < scenario.commands.size() && scenario.commands[next].step <= step; ++next)
      (void)engine.apply(scenario.commands[next].command);  // refused: there is no request yet
    if (step % every == 0) {
      PolicySet policies = step / every % 2 == 0 ? reference_policies() : safe_policies();
      keep_fixed_policies(policies, scenario.config.policies);
      RC_ASSERT(engine.apply(SetPolicies{policies}).ok());
    }
    const StepTrace& trace = engine.step();
    checker.check(trace, CheckScope::all);
    RC_ASSERT(trace.num_scheduled_tokens <= scenario.config.max_num_batched_tokens);
    if (next == scenario.commands.size() && engine.num_unfinished() == 0 &&
        !engine.has_frame_in_flight())
      break;
  }
  if (engine.num_unfinished() == 0 && !engine.has_frame_in_flight())
    RC_ASSERT(engine.kv_cache().num_free_blocks() ==
              scenario.config.kv_cache_config.num_blocks - 1);
}

TEST(PoliciesOnTheWay, LeaveTheEnginesBooksInOrder) {
  for (const MambaCacheMode mode :
       {MambaCacheMode::none, MambaCacheMode::all, MambaCacheMode::align})
    check_property(150, [mode] {
      const ScenarioShape shape =
          draw_shape(mode, [](int low, int high) { return draw(low, high); });
      run(make_scenario(shape), draw(1, 6));
    });
}

// Two requests that decode with a draft each; B is left out of a step. Does it come back with
// drafts that were lost if `policies` hold from that step on?
bool loses_drafts(const PolicySet& policies) {
  EngineConfig config = engine_config({.num_speculative_tokens = 1, .max_num_seqs = 2});
  config.async_scheduling = true;
  Engine engine = Engine::create(config).value();
  engine.add_request(request_of(5, 30, 1)).value();
  engine.add_request(request_of(5, 30, 2)).value();
  for (int i = 0; i < 3; ++i) engine.step();
  engine.apply(SetPolicies{policies}).value();
  engine.apply(SetStepBudget{2}).value();
  EXPECT_EQ(engine.step().rows.size(), 1u);
  const StepTrace& trace = engine.step();
  EXPECT_EQ(trace.rows.back().origin, RowOrigin::returned);
  return trace.rows.back().lost_drafts;
}

TEST(PoliciesOnTheWay, HoldForTheDraftsOfTheNextStep) {
  EXPECT_FALSE(loses_drafts({}));
  EXPECT_TRUE(loses_drafts({ReturningDrafts::placeholders}));
}

}  // namespace
}  // namespace hybridscope::test::policies_on_the_way_test
