// What commands do to the next step, and what the trace says about those that do nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/engine.h"
#include "tests/support/small_engine.h"

namespace hybridscope::test::engine_commands_test {
namespace {

using testing::ElementsAre;

constexpr RequestId A{0}, B{1};

std::vector<std::int32_t> sampled(const StepTrace& trace) {
  std::vector<std::int32_t> result;
  for (const RowTrace& row : trace.rows) result.push_back(row.num_sampled_tokens);
  return result;
}

TEST(EngineCommands, ScriptedCountsReplaceTheDrawForOneStep) {
  EngineConfig config = engine_config({.num_speculative_tokens = 2});
  config.acceptance_rate = 0.0;
  Engine engine = Engine::create(config).value();
  engine.add_request(request_of(5, 30, 1)).value();
  EXPECT_THAT(sampled(engine.step()), ElementsAre(1));
  engine.apply(SetAcceptedTokens{A, 3}).value();
  EXPECT_THAT(sampled(engine.step()), ElementsAre(3));
  EXPECT_THAT(sampled(engine.step()), ElementsAre(1));
}

TEST(EngineCommands, ACountThatIsNotUsedIsSaidInTheTrace) {
  Engine engine =
      Engine::create(engine_config({.num_speculative_tokens = 2, .max_num_batched_tokens = 8}))
          .value();
  engine.add_request(request_of(20, 5, 1)).value();
  engine.apply(SetAcceptedTokens{A, 2}).value();
  const StepTrace& trace = engine.step();
  ASSERT_EQ(trace.commands.size(), 3U);
  EXPECT_EQ(trace.commands[0].command, CommandKind::add_request);
  EXPECT_EQ(trace.commands[0].value, 20);
  EXPECT_EQ(trace.commands[2].outcome, CommandOutcome::ignored);
  EXPECT_EQ(trace.commands[2].command, CommandKind::set_accepted_tokens);
}

TEST(EngineCommands, ADraftListOfTheStepIsReplaced) {
  Engine engine = Engine::create(engine_config({.num_speculative_tokens = 2})).value();
  engine.add_request(request_of(5, 30, 1)).value();
  engine.step();
  engine.apply(SetDraftTokens{A, 0}).value();
  EXPECT_EQ(engine.step().scheduled.front().num_scheduled_tokens, 1);
  EXPECT_EQ(engine.step().scheduled.front().num_scheduled_tokens, 3);
}

TEST(EngineCommands, ABudgetIsForTheNextStepOnly) {
  Engine engine = Engine::create(engine_config({})).value();
  engine.add_request(request_of(40, 5, 1)).value();
  engine.apply(SetStepBudget{17}).value();
  const StepTrace& trace = engine.step();
  EXPECT_TRUE(trace.budget_overridden);
  EXPECT_EQ(trace.num_scheduled_tokens, 16);
  EXPECT_EQ(engine.step().num_scheduled_tokens, 24);
}

TEST(EngineCommands, APreemptedRequestComesBackInTheSameStep) {
  Engine engine = Engine::create(engine_config({})).value();
  engine.add_request(request_of(20, 9, 1)).value();
  engine.step();
  engine.apply(PreemptRequest{A}).value();
  const StepTrace& trace = engine.step();
  EXPECT_THAT(trace.preempted, ElementsAre(A));
  ASSERT_EQ(trace.scheduled.size(), 1U);
  EXPECT_EQ(trace.scheduled[0].admission, Admission::resumed);
  EXPECT_EQ(trace.scheduled[0].run, 1);
  EXPECT_EQ(trace.scheduled[0].num_hit_tokens, 16);
  EXPECT_EQ(trace.scheduled[0].num_scheduled_tokens, 4);
}

TEST(EngineCommands, PreemptingAWaitingRequestIsIgnored) {
  Engine engine = Engine::create(engine_config({})).value();
  engine.add_request(request_of(20, 9, 1)).value();
  engine.apply(PreemptRequest{A}).value();
  const StepTrace& trace = engine.step();
  ASSERT_EQ(trace.commands.size(), 2U);
  EXPECT_EQ(trace.commands[1].outcome, CommandOutcome::ignored);
  EXPECT_TRUE(trace.preempted.empty());
}

TEST(EngineCommands, AnAbortedRequestGivesItsBlocksBack) {
  Engine engine = Engine::create(engine_config({.num_blocks = 32})).value();
  engine.add_request(request_of(20, 9, 1)).value();
  engine.add_request(request_of(20, 9, 2)).value();
  engine.step();
  engine.apply(AbortRequest{A}).value();
  engine.apply(AbortRequest{A}).value();
  const StepTrace& trace = engine.step();
  EXPECT_EQ(trace.commands[0].outcome, CommandOutcome::done);
  EXPECT_EQ(trace.commands[1].outcome, CommandOutcome::ignored);
  EXPECT_EQ(engine.num_unfinished(), 1);
  EXPECT_TRUE(engine.kv_cache().block_ids(A, 0).empty());
  ASSERT_EQ(trace.rows.size(), 1U);
  EXPECT_EQ(trace.rows[0].request, B);
}

TEST(EngineCommands, AResetNeedsAllBlocksUnlessItPreempts) {
  Engine engine = Engine::create(engine_config({})).value();
  engine.add_request(request_of(20, 9, 1)).value();
  engine.step();
  engine.apply(ResetPrefixCache{false}).value();
  EXPECT_EQ(engine.step().commands[0].outcome, CommandOutcome::ignored);
  engine.apply(ResetPrefixCache{true}).value();
  const StepTrace& trace = engine.step();
  EXPECT_EQ(trace.commands[0].outcome, CommandOutcome::done);
  EXPECT_THAT(trace.preempted, ElementsAre(A));
  EXPECT_EQ(trace.scheduled[0].num_hit_tokens, 0);
}

TEST(EngineCommands, PoliciesChangeBetweenSteps) {
  Engine engine =
      Engine::create(engine_config({.block_size = 4, .max_num_batched_tokens = 16})).value();
  engine.add_request(request_of(11, 3, 1)).value();
  engine.apply(SetStepBudget{8}).value();
  EXPECT_EQ(engine.step().num_scheduled_tokens, 8);
  engine.apply(SetStepBudget{2}).value();
  EXPECT_EQ(engine.step().num_scheduled_tokens, 0);
  Policies policies = reference_policies();
  EXPECT_FALSE(engine.apply(SetPolicies{policies}).ok());  // caching policies stay as they are
  policies.cache = safe_policies().cache;
  const auto resized = engine.apply(SetPolicies{policies});
  ASSERT_FALSE(resized.ok());
  EXPECT_EQ(resized.error().message,
            "conv_state_sizing sizes blocks, which cannot change while an engine runs");
  policies.conv_state_sizing = safe_policies().conv_state_sizing;
  engine.apply(SetPolicies{policies}).value();
  engine.apply(SetStepBudget{2}).value();
  EXPECT_EQ(engine.step().num_scheduled_tokens, 2);
}

}  // namespace
}  // namespace hybridscope::test::engine_commands_test
