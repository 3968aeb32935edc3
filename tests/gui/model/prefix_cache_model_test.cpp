#include "gui/model/prefix_cache_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/model/live_run.h"
#include "tests/sessions/record/plan_run.h"

namespace hybridscope {
namespace {

using testing::HasSubstr;

// Step 3: B shares 16 of its 20 tokens with A and finds both groups' blocks; C shares 8 and finds
// the attention block, but no state after 8 tokens.
TEST(PrefixCacheModel, TellsPerGroupWhatWasThereAndWhyNotMore) {
  const auto run = LiveRun::create(test::plan_of_file(std::string(HYBRIDSCOPE_SOURCE_DIR) +
                                                      "/scenarios/shared_prefix_align.json"))
                       .value();
  ASSERT_TRUE(run->go_to(3).ok());
  const auto cards = make_prefix_cache_model(run->view());
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

}  // namespace
}  // namespace hybridscope
