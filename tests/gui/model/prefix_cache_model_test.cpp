#include "gui/model/prefix_cache_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/model/live_run.h"
#include "tests/sessions/record/plan_run.h"

namespace hybridscope::prefix_cache_model_test {
namespace {

using testing::HasSubstr;

// Step 3: B shares 16 of its 20 tokens with A and finds both groups' blocks; C shares 8 and finds
// the attention block, but no state after 8 tokens.
TEST(PrefixCacheModel, TellsPerGroupWhatWasThereAndWhyNotMore) {
  const auto run = LiveRun::create(test::plan_of_file(std::string(HYBRIDSCOPE_SOURCE_DIR) +
                                                      "/scenarios/shared_prefix_align.json"))
                       .value();
  ASSERT_TRUE(run->go_to(3).ok());
  const auto cards = make_prefix_cache_model(run->view(), nullptr);
  ASSERT_EQ(cards.size(), 2u);
  EXPECT_EQ(cards[0].name, "B");
  EXPECT_EQ(cards[0].num_tokens, 20);
  EXPECT_EQ(cards[0].num_hit_tokens, 16);
  EXPECT_THAT(cards[0].words, HasSubstr("hit of 16 tokens, at most 19"));
  EXPECT_EQ(cards[1].num_hit_tokens, 0);
  ASSERT_EQ(cards[1].groups.size(), 2u);
  EXPECT_EQ(cards[1].groups[0].present_length, 8);
  EXPECT_THAT(cards[1].groups[0].words, HasSubstr("cut to 0, because another group has no more"));
  EXPECT_EQ(cards[1].groups[1].name, "group 1 (mamba2)");
  EXPECT_EQ(cards[1].groups[1].present_length, 0);
  EXPECT_EQ(cards[1].groups[1].miss_token, 0);
  EXPECT_EQ(cards[1].groups[1].words, "has no state: the state after 8 tokens is not there");
}

std::unique_ptr<LiveRun> shared_prefix_run() {
  return LiveRun::create(test::plan_of_file(std::string(HYBRIDSCOPE_SOURCE_DIR) +
                                            "/scenarios/shared_prefix_align.json"))
      .value();
}

TEST(PrefixCacheModel, TellsOfALiveRunWhatWasInCommonAndWhyItWasLost) {
  const auto run = shared_prefix_run();
  ASSERT_TRUE(run->go_to(3).ok());
  const auto cards = make_prefix_cache_model(run->view(), run->cache_report());
  ASSERT_EQ(cards.size(), 2u);
  EXPECT_EQ(cards[0].num_common_tokens, 16);
  EXPECT_THAT(cards[0].lost, testing::IsEmpty());
  EXPECT_EQ(cards[1].num_common_tokens, 8);
  EXPECT_EQ(cards[1].shared,
            "C, admitted in step 3, has 20 tokens, 8 of them in common with A; hit 0, 8 computed "
            "again.");
  ASSERT_EQ(cards[1].lost.size(), 1u);
  EXPECT_THAT(cards[1].lost[0], HasSubstr("Tokens 1..8 (state missing)"));
}

TEST(PrefixCacheModel, ASelectedRequestThatWasAdmittedBeforeIsToldToo) {
  const auto run = shared_prefix_run();
  ASSERT_TRUE(run->go_to(3).ok());
  const RequestId c = run->find_request("C");
  EXPECT_FALSE(find_earlier_lookup(run->view(), run->cache_report(), c));
  ASSERT_TRUE(run->go_to(4).ok());
  const auto earlier = find_earlier_lookup(run->view(), run->cache_report(), c);
  ASSERT_TRUE(earlier.has_value());
  EXPECT_THAT(earlier->shared, HasSubstr("C, admitted in step 3"));
  ASSERT_EQ(earlier->lost.size(), 1u);
  EXPECT_FALSE(find_earlier_lookup(run->view(), run->cache_report(), RequestId{}));
  EXPECT_FALSE(find_earlier_lookup(run->view(), nullptr, c));
  ASSERT_TRUE(run->go_to(2).ok());
  EXPECT_FALSE(find_earlier_lookup(run->view(), run->cache_report(), c));
}

TEST(PrefixCacheModel, GoingBackTellsTheSame) {
  const auto run = shared_prefix_run();
  ASSERT_TRUE(run->go_to(6).ok());
  ASSERT_TRUE(run->go_to(3).ok());
  const auto cards = make_prefix_cache_model(run->view(), run->cache_report());
  ASSERT_EQ(cards.size(), 2u);
  EXPECT_EQ(cards[1].num_common_tokens, 8);
}

// An edit in step 3 lets D come in step 5, with 12 tokens of A's: reasons behind the edit are those
// of the edited run.
TEST(PrefixCacheModel, AnEditForgetsTheReasonsBehindIt) {
  const auto run = shared_prefix_run();
  ASSERT_TRUE(run->go_to(6).ok());
  RunPlan plan = *run->plan();
  ArrivingRequest d = plan.requests.front();
  d.at_step = 5;
  d.request.name = "D";
  d.request.key = 99;
  d.request.prompt = {
      {.content = plan.requests.front().request.prompt.front().content, .length = 12}};
  plan.requests.push_back(d);
  ASSERT_TRUE(run->continue_with(plan, 3));
  ASSERT_TRUE(run->go_to(5).ok());
  ASSERT_NE(run->cache_report(), nullptr);
  const auto cards = make_prefix_cache_model(run->view(), run->cache_report());
  ASSERT_EQ(cards.size(), 1u);
  EXPECT_EQ(cards[0].name, "D");
  EXPECT_EQ(cards[0].num_common_tokens, 12);
  EXPECT_THAT(cards[0].lost[0], HasSubstr("Token 12 (last token)"));
  EXPECT_EQ(run->cache_report()->lookups().size(), 4u);
}

TEST(PrefixCacheModel, TheSmallestCacheablePrefixIsKnownOfAnyRun) {
  EXPECT_EQ(smallest_prefix_line(shared_prefix_run()->config()),
            "Smallest cacheable prefix: 8 tokens, of a prompt of at least 9 (hits end on multiples "
            "of 8).");
}

}  // namespace
}  // namespace hybridscope::prefix_cache_model_test
