#include "sessions/traffic/traffic_load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "sessions/text/name_hash.h"

namespace hybridscope::synthetic_traffic_test {
namespace {

using Source = PromptSegment::Source;

Traffic made(const SyntheticTrafficOptions& options) {
  Result<Traffic> traffic = make_synthetic_traffic(options);
  EXPECT_TRUE(traffic.ok()) << traffic.error().message;
  return std::move(traffic).value();
}

const ArrivingRequest& named(const Traffic& traffic, std::string_view name) {
  return *std::find_if(traffic.requests.begin(), traffic.requests.end(),
                       [&](const ArrivingRequest& a) { return a.request.name == name; });
}

TEST(SyntheticTraffic, ASeedGivesTheSameTrafficEverywhere) {
  const Traffic traffic = made({.seed = 1});
  EXPECT_EQ(traffic.requests.size(), 738U);
  EXPECT_EQ(traffic.num_prompt_tokens, 1809884);
  EXPECT_EQ(traffic.num_output_tokens, 150719);
  struct First {
    std::int64_t arrival_us;
    const char* name;
    const char* system;
    std::int32_t system_tokens, user_tokens, max_tokens;
  };
  const First firsts[] = {{0, "c1.t1", "system6", 807, 372, 140},
                          {578173, "c2.t1", "system3", 1963, 501, 344},
                          {1017504, "c3.t1", "system2", 1826, 134, 335},
                          {1479318, "c4.t1", "system5", 957, 123, 127},
                          {1754098, "c5.t1", "system2", 1826, 288, 260}};
  for (std::size_t i = 0; i < 5; ++i) {
    const ArrivingRequest& arriving = traffic.requests[i];
    EXPECT_EQ(arriving.arrival_us, firsts[i].arrival_us);
    EXPECT_EQ(arriving.request.name, firsts[i].name);
    EXPECT_EQ(arriving.request.key, request_key(firsts[i].name));
    EXPECT_EQ(arriving.request.max_tokens, firsts[i].max_tokens);
    EXPECT_THAT(
        arriving.request.prompt,
        testing::ElementsAre(
            PromptSegment{Source::text, text_content(firsts[i].system), 0, firsts[i].system_tokens},
            PromptSegment{Source::text, text_content(firsts[i].name), 0, firsts[i].user_tokens}));
  }
}

TEST(SyntheticTraffic, ATurnsPromptIsTheWholeHistory) {
  const Traffic traffic = made({.seed = 1, .num_conversations = 20, .turns = {3, 3}});
  const AddRequest& second = named(traffic, "c1.t2").request;
  const AddRequest& third = named(traffic, "c1.t3").request;
  ASSERT_EQ(second.prompt.size(), 4U);  // system, user, answer, user
  ASSERT_EQ(third.prompt.size(), 6U);
  EXPECT_TRUE(std::equal(second.prompt.begin(), second.prompt.end(), third.prompt.begin()));
  EXPECT_EQ(third.prompt[4], (PromptSegment{Source::output, request_key("c1.t2"),
                                            static_cast<std::int32_t>(num_prompt_tokens(second)),
                                            second.max_tokens}));
  EXPECT_EQ(third.prompt[5].content, text_content("c1.t3"));
}

TEST(SyntheticTraffic, SystemPromptsAreSharedByConversations) {
  const Traffic traffic = made({.seed = 1, .num_conversations = 100, .num_system_prompts = 4});
  std::map<std::uint64_t, std::set<std::int32_t>> lengths;
  for (const ArrivingRequest& arriving : traffic.requests)
    lengths[arriving.request.prompt[0].content].insert(arriving.request.prompt[0].length);
  EXPECT_EQ(lengths.size(), 4U);
  for (const auto& [content, seen] : lengths) EXPECT_EQ(seen.size(), 1U);
}

TEST(SyntheticTraffic, RequestsComeByArrivalAndTurnsInOrder) {
  const Traffic traffic = made({.seed = 7});
  EXPECT_TRUE(
      std::is_sorted(traffic.requests.begin(), traffic.requests.end(),
                     [](const auto& a, const auto& b) { return a.arrival_us < b.arrival_us; }));
  EXPECT_EQ(traffic.requests.front().arrival_us, 0);
  const ArrivingRequest& first = named(traffic, "c1.t1");
  for (const ArrivingRequest& a : traffic.requests)
    if (a.request.name == "c1.t2") {
      EXPECT_GE(a.arrival_us, first.arrival_us + first.request.max_tokens * 25'000);
    }
}

TEST(SyntheticTraffic, LengthsStayInTheirRangesAndReachBothEnds) {
  const Traffic traffic = made({.seed = 3,
                                .num_conversations = 400,
                                .turns = {1, 4},
                                .user_tokens = {2, 5},
                                .output_tokens = {1, 3}});
  std::set<std::int32_t> user, output;
  for (const ArrivingRequest& arriving : traffic.requests) {
    user.insert(arriving.request.prompt.back().length);
    output.insert(arriving.request.max_tokens);
  }
  EXPECT_THAT(user, testing::ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(output, testing::ElementsAre(1, 2, 3));
}

TEST(SyntheticTraffic, GapsHaveAboutTheirMean) {
  const Traffic traffic =
      made({.seed = 5, .num_conversations = 4001, .turns = {1, 1}, .mean_gap_us = 100'000});
  const double mean = static_cast<double>(traffic.requests.back().arrival_us) / 4000;
  EXPECT_NEAR(mean, 100'000, 5'000);
}

TEST(SyntheticTraffic, OtherSeedsGiveOtherTraffic) {
  EXPECT_NE(made({.seed = 1}).num_prompt_tokens, made({.seed = 2}).num_prompt_tokens);
}

TEST(SyntheticTraffic, ChangingOneOptionLeavesOtherDrawsAlone) {
  const Traffic a = made({.seed = 1, .output_tokens = {16, 384}});
  const Traffic b = made({.seed = 1, .output_tokens = {5, 9}});
  EXPECT_EQ(named(a, "c2.t1").request.prompt, named(b, "c2.t1").request.prompt);
  EXPECT_EQ(a.requests.size(), b.requests.size());
}

TEST(SyntheticTraffic, OptionsOutOfRangeAreErrors) {
  EXPECT_EQ(make_synthetic_traffic({.num_conversations = 0}).error().message,
            "num_conversations is 0 (allowed: 1 to 1000000)");
  EXPECT_EQ(make_synthetic_traffic({.user_tokens = {5, 4}}).error().message,
            "user_tokens is 5 to 4 (allowed: an ascending range within 1 to 16777216)");
  EXPECT_FALSE(make_synthetic_traffic({.turns = {0, 4}}).ok());
  EXPECT_FALSE(make_synthetic_traffic({.turns = {1, 257}}).ok());
  EXPECT_FALSE(make_synthetic_traffic({.num_system_prompts = 0}).ok());
  EXPECT_FALSE(make_synthetic_traffic({.output_tokens = {1, 1 << 24}}).ok());
  EXPECT_FALSE(make_synthetic_traffic({.mean_gap_us = -1}).ok());
}

}  // namespace
}  // namespace hybridscope::synthetic_traffic_test
