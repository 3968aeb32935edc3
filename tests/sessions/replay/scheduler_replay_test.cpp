#include "sessions/replay/scheduler_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/policy_table.h"

namespace hybridscope::test::scheduler_replay_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One attention group with blocks of 4 tokens, 9 blocks to give out, 8 tokens a step.
EngineConfig attention_only() {
  EngineConfig config;
  config.kv_cache_config.num_blocks = 10;
  config.kv_cache_config.groups.push_back(
      {.spec = FullAttentionSpec{.block_size = 4}, .layers = {}});
  config.block_size = config.scheduler_block_size = config.hash_block_size = 4;
  config.max_model_len = 32;
  config.max_num_batched_tokens = 8;
  config.policies = reference_policies();
  return config;
}

SchedulerReplay replay_of(const EngineConfig& config) {
  return SchedulerReplay::create(config).value();
}

ReplayRequest request(const std::string& name, TokenIds prompt) {
  return {.name = name, .prompt_token_ids = std::move(prompt), .max_tokens = 2};
}

TEST(SchedulerReplay, TellsWhatANewRequestGets) {
  SchedulerReplay replay = replay_of(attention_only());
  ASSERT_TRUE(replay.add_request(request("a", {1, 2, 3, 4, 5})).ok());
  const ReplayedSchedule step = replay.schedule().value();
  ASSERT_EQ(step.scheduled.size(), 1u);
  EXPECT_EQ(step.scheduled[0].name, "a");
  EXPECT_EQ(step.scheduled[0].admission, Admission::new_request);
  EXPECT_EQ(step.scheduled[0].num_scheduled_tokens, 5);
  EXPECT_THAT(step.scheduled[0].block_ids, ElementsAre(ElementsAre(1, 2)));
  EXPECT_THAT(step.new_attention_block_ids, ElementsAre(1, 2));
  EXPECT_THAT(replay.running(), ElementsAre("a"));
}

TEST(SchedulerReplay, ARunningRequestReportsOnlyItsNewBlocksAsNew) {
  SchedulerReplay replay = replay_of(attention_only());
  ASSERT_TRUE(replay.add_request(request("a", {1, 2, 3, 4})).ok());
  ASSERT_TRUE(replay.schedule().ok());
  ASSERT_TRUE(replay.update_from_output({{"a", {9}}}).ok());
  const ReplayedSchedule step = replay.schedule().value();
  EXPECT_THAT(step.scheduled[0].block_ids, ElementsAre(ElementsAre(1, 2)));
  EXPECT_THAT(step.scheduled[0].new_block_ids(), ElementsAre(ElementsAre(2)));
}

TEST(SchedulerReplay, EqualTokensHitTheBlocksOfARequestThatEnded) {
  SchedulerReplay replay = replay_of(attention_only());
  ASSERT_TRUE(replay.add_request(request("a", {1, 2, 3, 4, 5})).ok());
  ASSERT_TRUE(replay.schedule().ok());
  replay.abort("a");
  ASSERT_TRUE(replay.add_request(request("b", {1, 2, 3, 4, 6})).ok());
  const ReplayedSchedule step = replay.schedule().value();
  EXPECT_THAT(step.finished, ElementsAre("a"));
  EXPECT_EQ(step.scheduled[0].num_computed_tokens, 4);
  EXPECT_EQ(step.scheduled[0].num_scheduled_tokens, 1);
}

TEST(SchedulerReplay, DraftsAreScheduledAndRejectedOnesTakenBack) {
  EngineConfig config = attention_only();
  config.speculative_method = SpeculativeMethod::ngram;
  config.num_speculative_tokens = 2;
  SchedulerReplay replay = replay_of(config);
  ASSERT_TRUE(replay.add_request({.name = "a", .prompt_token_ids = {1, 2}, .max_tokens = 9}).ok());
  ASSERT_TRUE(replay.schedule().ok());
  ASSERT_TRUE(replay.update_from_output({{"a", {3}}}).ok());
  replay.update_draft_token_ids({{"a", {7, 8}}});
  EXPECT_THAT(replay.schedule().value().scheduled[0].draft_token_ids, ElementsAre(7, 8));
  EXPECT_EQ(replay.find("a")->num_computed_tokens, 5);
  ASSERT_TRUE(replay.update_from_output({{"a", {7, 5}}}).ok());
  EXPECT_EQ(replay.find("a")->num_computed_tokens, 4);
  EXPECT_EQ(replay.find("a")->num_tokens, 5);
}

TEST(SchedulerReplay, ARequestThatReachesMaxTokensIsNotAliveAnyMore) {
  SchedulerReplay replay = replay_of(attention_only());
  ASSERT_TRUE(replay.add_request({.name = "a", .prompt_token_ids = {1}, .max_tokens = 1}).ok());
  ASSERT_TRUE(replay.schedule().ok());
  ASSERT_TRUE(replay.update_from_output({{"a", {2}}}).ok());
  EXPECT_THAT(replay.live(), IsEmpty());
  EXPECT_EQ(replay.find("a"), nullptr);
  EXPECT_EQ(replay.kv_cache().num_free_blocks(), 9);
}

TEST(SchedulerReplay, ARequestThatStopsIsFreedInTheOrderOfTheStep) {
  SchedulerReplay replay = replay_of(attention_only());
  ASSERT_TRUE(replay.add_request({.name = "a", .prompt_token_ids = {1}, .max_tokens = 9}).ok());
  ASSERT_TRUE(replay.add_request({.name = "b", .prompt_token_ids = {2}, .max_tokens = 1}).ok());
  ASSERT_TRUE(replay.schedule().ok());
  ASSERT_TRUE(replay.update_from_output({{"a", {3}}, {"b", {4}}}, {"a"}).ok());
  EXPECT_THAT(replay.live(), IsEmpty());
  EXPECT_THAT(replay.schedule().value().finished, ElementsAre("a", "b"));
}

TEST(SchedulerReplay, AnOutputThatDoesNotFitTheStepIsRefusedAndChangesNothing) {
  SchedulerReplay replay = replay_of(attention_only());
  const Status early = replay.update_from_output({});
  ASSERT_FALSE(early.ok());
  EXPECT_THAT(early.error().message, HasSubstr("no step was scheduled"));
  ASSERT_TRUE(replay.add_request(request("a", {1, 2})).ok());
  ASSERT_TRUE(replay.schedule().ok());
  EXPECT_THAT(replay.update_from_output({}).error().message, HasSubstr("\"a\""));
  EXPECT_THAT(replay.update_from_output({{"a", {3, 4}}}).error().message,
              HasSubstr("2 sampled tokens with 0 drafts"));
  EXPECT_THAT(replay.update_from_output({{"a", {3}}, {"b", {}}}).error().message,
              HasSubstr("\"b\" was not scheduled"));
  EXPECT_EQ(replay.find("a")->num_tokens, 2);
  EXPECT_TRUE(replay.update_from_output({{"a", {3}}}).ok());
}

TEST(SchedulerReplay, ANameIsFreeAgainWhenItsRequestEnded) {
  SchedulerReplay replay = replay_of(attention_only());
  ASSERT_TRUE(replay.add_request(request("a", {1})).ok());
  EXPECT_FALSE(replay.add_request(request("a", {1})).ok());
  replay.abort("a");
  EXPECT_TRUE(replay.add_request(request("a", {1})).ok());
  EXPECT_THAT(replay.waiting(), ElementsAre("a"));
}

TEST(SchedulerReplay, AbortOfANameNobodyHasChangesNothing) {
  SchedulerReplay replay = replay_of(attention_only());
  replay.abort("nobody");
  EXPECT_THAT(replay.schedule().value().finished, IsEmpty());
}

TEST(SchedulerReplay, AResetOfRunningRequestsBringsThemBackAsResumed) {
  SchedulerReplay replay = replay_of(attention_only());
  ASSERT_TRUE(replay.add_request(request("a", {1, 2})).ok());
  ASSERT_TRUE(replay.schedule().ok());
  ASSERT_TRUE(replay.update_from_output({{"a", {3}}}).ok());
  EXPECT_FALSE(replay.reset_prefix_cache(false));
  EXPECT_TRUE(replay.reset_prefix_cache(true));
  EXPECT_EQ(replay.schedule().value().scheduled[0].admission, Admission::resumed);
}

TEST(SchedulerReplay, RefusesSettingsNoCacheCanHave) {
  EngineConfig config = attention_only();
  config.hash_block_size = 3;
  EXPECT_FALSE(SchedulerReplay::create(config).ok());
}

}  // namespace
}  // namespace hybridscope::test::scheduler_replay_test
