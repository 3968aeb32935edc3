#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/engine.h"
#include "tests/support/small_engine.h"

namespace hybridscope::test::engine_errors_test {
namespace {

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
}  // namespace hybridscope::test::engine_errors_test
