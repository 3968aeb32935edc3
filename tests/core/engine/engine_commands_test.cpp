// What commands do to the next step, and what the trace says about those that do nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/engine.h"
#include "core/engine/policy_table.h"
#include "core/engine/releases.h"
#include "core/model/conv_state_sizing.h"
#include "tests/support/small_engine.h"

namespace hybridscope::test::engine_commands_test {
namespace {

using testing::ElementsAre;

constexpr RequestId A{0}, B{1}, C{2};

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

// Three requests, two at a time, in a pool of 10 blocks; what the scheduler of vLLM 0.33.0 gives
// out after these two calls, in either order.
class ResetAndAbort {
 public:
  ResetAndAbort() : engine_(Engine::create(config()).value()) {
    engine_.add_request(request_of(12, 15, 1, 10)).value();
    engine_.add_request(request_of(17, 7, 2, 9)).value();
    engine_.add_request(request_of(1, 11, 3)).value();
    for (int step = 0; step < 6; ++step) engine_.step();
  }

  void reset() { engine_.apply(ResetPrefixCache{true}).value(); }
  void abort() { engine_.apply(AbortRequest{A}).value(); }
  const StepTrace& step() { return engine_.step(); }

  // The request's first block in each group.
  std::vector<std::int32_t> first_blocks(RequestId request) const {
    std::vector<std::int32_t> blocks;
    for (std::int32_t group = 0; group < 3; ++group)
      blocks.push_back(engine_.kv_cache().block_ids(request, group).front());
    return blocks;
  }

 private:
  static EngineConfig config() {
    EngineConfig config =
        engine_config({.mamba_type = MambaType::gdn_attention,
                       .block_size = 12,
                       .num_blocks = 11,
                       .num_mamba_groups = 2,
                       .max_model_len = 132,
                       .max_num_seqs = 2,
                       .max_num_batched_tokens = 482,
                       .policies = release_policies(Release::v0_33_0, ModelRunner::v1)});
    config.prefix_cache_retention_interval = 0;
    return config;
  }

  Engine engine_;
};

TEST(EngineCommands, AResetBeforeAnAbortStillReportsTheAbortedRequestAsPreempted) {
  ResetAndAbort run;
  run.reset();
  run.abort();
  EXPECT_THAT(run.step().preempted, ElementsAre(B, A));
  EXPECT_THAT(run.first_blocks(B), ElementsAre(9, 8, 7));
  EXPECT_THAT(run.first_blocks(C), ElementsAre(10, 2, 3));
}

TEST(EngineCommands, AnAbortBeforeAResetFreesItsBlocksFirst) {
  ResetAndAbort run;
  run.abort();
  run.reset();
  EXPECT_THAT(run.step().preempted, ElementsAre(B));
  EXPECT_THAT(run.first_blocks(B), ElementsAre(10, 2, 3));
  EXPECT_THAT(run.first_blocks(C), ElementsAre(9, 8, 7));
}

TEST(EngineCommands, PoliciesChangeBetweenSteps) {
  Engine engine =
      Engine::create(engine_config({.block_size = 4, .max_num_batched_tokens = 16})).value();
  engine.add_request(request_of(11, 3, 1)).value();
  engine.apply(SetStepBudget{8}).value();
  EXPECT_EQ(engine.step().num_scheduled_tokens, 8);
  engine.apply(SetStepBudget{2}).value();
  EXPECT_EQ(engine.step().num_scheduled_tokens, 0);
  PolicySet policies = reference_policies();
  EXPECT_FALSE(engine.apply(SetPolicies{policies}).ok());  // caching policies stay as they are
  keep_caching_policies(policies, safe_policies());
  const auto resized = engine.apply(SetPolicies{policies});
  ASSERT_FALSE(resized.ok());
  EXPECT_EQ(resized.error().message,
            "conv_state_sizing sizes blocks, which cannot change while an engine runs");
  policies.set(safe_policies().get<ConvStateSizing>());
  engine.apply(SetPolicies{policies}).value();
  engine.apply(SetStepBudget{2}).value();
  EXPECT_EQ(engine.step().num_scheduled_tokens, 2);
}

}  // namespace
}  // namespace hybridscope::test::engine_commands_test
