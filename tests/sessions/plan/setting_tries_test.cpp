#include "sessions/plan/plan_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sessions/scenario/scenario_reader.h"

namespace hybridscope::test::setting_tries_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// B shares 6 tokens with A, whose chunks of 8 tokens leave no state after 4.
RunPlan plan() {
  const std::string text =
      R"({"version": 1, "name": "n", "teaches": "t", "model": "tiny-gdn",
          "settings": {"mamba_cache_mode": "align", "block_size": 4, "max_model_len": 64,
                       "num_gpu_blocks_override": 64, "async_scheduling": false,
                       "long_prefill_token_threshold": 8},
          "requests": [{"id": "A", "prompt": 16, "max_tokens": 2},
                       {"id": "B", "prompt": {"tokens": 16, "share": "A", "share_tokens": 6},
                        "max_tokens": 2, "at_step": 9}]})";
  return plan_scenario(parse_scenario({text, "test.json"}).value(), "test.json").value();
}

std::vector<SweepAxis> axes(const std::vector<std::string>& texts) {
  std::vector<SweepAxis> axes;
  for (const std::string& text : texts) axes.push_back(parse_sweep(text).value());
  return axes;
}

TEST(SettingTries, ASettingThatKeepsMoreIsNamedWithItsPrice) {
  const SettingTries tries =
      SettingTries::run(plan(),
                        axes({"long_prefill_token_threshold=4,8", "tensor_parallel_size=3"}), {})
          .value();
  EXPECT_TRUE(tries.complete());
  ASSERT_EQ(tries.tries().size(), 3U);
  EXPECT_THAT(tries.tries()[2].refused, HasSubstr("tensor"));
  const std::vector<HelpfulSetting> helpful = tries.that_help("B");
  ASSERT_EQ(helpful.size(), 1U);
  EXPECT_EQ(helpful[0].name, "long_prefill_token_threshold=4");
  EXPECT_EQ(helpful[0].num_hit_tokens, 4);
  EXPECT_THAT(helpful[0].price, StartsWith("hit tokens 4 rather than 0, steps 9 rather than 7"));
  EXPECT_THAT(tries.that_help("A"), IsEmpty());
  EXPECT_THAT(tries.that_help("nobody"), IsEmpty());
}

TEST(SettingTries, WhatIsInterruptedIsNotComplete) {
  const SettingTries tries =
      SettingTries::run(plan(), axes({"block_size=4,8"}), [] { return false; }).value();
  EXPECT_FALSE(tries.complete());
  EXPECT_THAT(tries.tries(), IsEmpty());
}

}  // namespace
}  // namespace hybridscope::test::setting_tries_test
