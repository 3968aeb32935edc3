// What commands do to the next step, and what the trace says about those that do nothing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/engine.h"
#include "core/engine/policy_table.h"
#include "core/engine/releases.h"
#include "core/model/model_policies.h"
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

using testing::HasSubstr;

std::string error_of(const EngineConfig& config) {
  const auto engine = Engine::create(config);
  return engine.ok() ? "no error" : engine.error().message;
}

std::string error_of(const SmallEngine& small) { return error_of(engine_config(small)); }

std::string error_of(const SmallEngine& small, const AddRequest& request) {
  Engine engine = Engine::create(engine_config(small)).value();
  const auto added = engine.add_request(request);
  EXPECT_EQ(engine.num_requests(), added.ok() ? 1 : 0);
  return added.ok() ? "no error" : added.error().message;
}

TEST(EngineErrors, VerifyRowsMustFitAMambaBlock) {
  EXPECT_THAT(error_of(SmallEngine{.block_size = 3, .num_speculative_tokens = 3}),
              HasSubstr("num_speculative_tokens + 1 = 4 tokens do not fit a mamba block of 3"));
  EXPECT_EQ(error_of(SmallEngine{.block_size = 4, .num_speculative_tokens = 3}), "no error");
  EXPECT_EQ(error_of(SmallEngine{
                .mode = MambaCacheMode::none, .block_size = 3, .num_speculative_tokens = 3}),
            "no error");
}

TEST(EngineErrors, CaptureSizesAscend) {
  EngineConfig config = engine_config({});
  config.cudagraph_capture_sizes = {4, 2};
  EXPECT_THAT(error_of(config), HasSubstr("cudagraph_capture_sizes are not ascending"));
}

TEST(EngineErrors, DraftsNeedAMethodAndAMethodNeedsDrafts) {
  EngineConfig config = engine_config({.num_speculative_tokens = 2});
  config.speculative_method = SpeculativeMethod::none;
  EXPECT_THAT(error_of(config), HasSubstr("num_speculative_tokens 2"));
  config.speculative_method = SpeculativeMethod::ngram;
  config.num_speculative_tokens = 0;
  EXPECT_THAT(error_of(config), HasSubstr("num_speculative_tokens 0"));
}

TEST(EngineErrors, SettingsAreInRange) {
  EngineConfig config = engine_config({});
  config.conv_kernel = 9;
  EXPECT_THAT(error_of(config), HasSubstr("conv_kernel 9, expected 2..8"));
  config = engine_config({});
  config.acceptance_rate = 1.5;
  EXPECT_THAT(error_of(config), HasSubstr("acceptance_rate"));
  EXPECT_THAT(error_of(SmallEngine{.max_num_seqs = 0}), HasSubstr("max_num_seqs 0"));
  EXPECT_THAT(error_of(SmallEngine{.max_num_batched_tokens = 0}),
              HasSubstr("max_num_batched_tokens 0"));
  EXPECT_THAT(error_of(SmallEngine{.num_mamba_groups = 0, .num_attention_groups = 0}),
              HasSubstr("caches nothing"));
}

TEST(EngineErrors, ARequestHasAPromptAndAnOutput) {
  EXPECT_THAT(error_of(SmallEngine{}, request_of(0, 1, 1)),
              HasSubstr("request \"r1\": the prompt has no token"));
  EXPECT_THAT(error_of(SmallEngine{}, request_of(3, 0, 1)), HasSubstr("max_tokens is 0"));
}

TEST(EngineErrors, PromptSegmentsHaveTokens) {
  AddRequest request = request_of(3, 1, 1);
  request.prompt.push_back({.content = 5, .length = 0});
  EXPECT_THAT(error_of(SmallEngine{}, request), HasSubstr("segment of 0 tokens from token 0 on"));
  request.prompt.back() = {.content = 5, .first = -2, .length = 4};
  EXPECT_THAT(error_of(SmallEngine{}, request), HasSubstr("segment of 4 tokens from token -2 on"));
}

TEST(EngineErrors, APromptLeavesRoomForATokenBelowMaxModelLen) {
  const SmallEngine small{.max_model_len = 20};
  EXPECT_THAT(error_of(small, request_of(20, 1, 1)),
              HasSubstr("the prompt has 20 tokens, max_model_len is 20"));
  EXPECT_THAT(error_of(small, request_of(2'000'000'000, 1, 1)), HasSubstr("2000000000 tokens"));
  EXPECT_EQ(error_of(small, request_of(19, 50, 1)), "no error");
}

// 40 + 8 tokens: 6 attention blocks; the running state, the one before it: 2 blocks.
TEST(EngineErrors, ARequestThatThePoolCannotHoldIsToldWithTheNumbers) {
  const auto fits = [](std::int32_t num_blocks) {
    const EngineConfig config = engine_config({.block_size = 8, .num_blocks = num_blocks});
    const Status status = check_request_fits(config, request_of(40, 8, 1));
    return status.ok() ? std::string("it fits") : status.error().message;
  };
  EXPECT_THAT(fits(8), HasSubstr("it can need 8 blocks at 48 tokens, the pool has 7"));
  EXPECT_EQ(fits(9), "it fits");
}

// Its prompt takes all 5 blocks, and nobody is left to be preempted for a sixth.
TEST(EngineErrors, AnEngineTakesARequestThatThePoolCannotHold) {
  Engine engine = Engine::create(engine_config({.block_size = 8, .num_blocks = 6})).value();
  ASSERT_TRUE(engine.add_request(request_of(40, 8, 1)).ok());
  for (int step = 0; step < 20; ++step) engine.step();
  EXPECT_EQ(engine.num_unfinished(), 1);
}

TEST(EngineErrors, CommandsNameRequestsThatWereAdded) {
  Engine engine = Engine::create(engine_config({.num_speculative_tokens = 2})).value();
  EXPECT_THAT(engine.apply(PreemptRequest{{0}}).error().message,
              HasSubstr("request 0 was never added"));
  EXPECT_FALSE(engine.apply(AbortRequest{{-1}}).ok());
  EXPECT_FALSE(engine.apply(SetAcceptedTokens{{3}, 1}).ok());
  EXPECT_FALSE(engine.apply(SetDraftTokens{{3}, 1}).ok());
  EXPECT_TRUE(engine.apply(request_of(3, 1, 1)).ok());
  EXPECT_TRUE(engine.apply(AbortRequest{{0}}).ok());
}

TEST(EngineErrors, CommandValuesAreInRange) {
  Engine engine = Engine::create(engine_config({.num_speculative_tokens = 2})).value();
  const RequestId request = engine.add_request(request_of(3, 5, 1)).value();
  EXPECT_THAT(engine.apply(SetAcceptedTokens{request, 4}).error().message,
              HasSubstr("num_accepted_tokens is 4, expected 1..3"));
  EXPECT_FALSE(engine.apply(SetAcceptedTokens{request, 0}).ok());
  EXPECT_TRUE(engine.apply(SetAcceptedTokens{request, 3}).ok());
  EXPECT_THAT(engine.apply(SetDraftTokens{request, 3}).error().message,
              HasSubstr("num_draft_tokens is 3, expected 0..2"));
  EXPECT_FALSE(engine.apply(SetDraftTokens{request, -1}).ok());
  EXPECT_THAT(engine.apply(SetStepBudget{65}).error().message,
              HasSubstr("budget is 65, expected 0..64"));
  EXPECT_FALSE(engine.apply(SetStepBudget{-1}).ok());
  EXPECT_TRUE(engine.apply(SetStepBudget{0}).ok());
}

}  // namespace

}  // namespace hybridscope::test::engine_commands_test
