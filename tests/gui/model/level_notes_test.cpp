#include "gui/model/level_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/model/block_story.h"
#include "gui/model/graph_padding_model.h"
#include "gui/model/metadata_model.h"
#include "gui/model/pool_model.h"
#include "gui/model/prefix_cache_model.h"
#include "tests/gui/model/shown_scenario.h"

namespace hybridscope::level_notes_test {
namespace {

using test::recorded_scenario;
using testing::HasSubstr;
using testing::Not;

constexpr char kOfPool[] =
    "The session keeps no owners and labels of blocks: it was recorded at level counts.";

// Step 3 admits B and C with 4 + 12 tokens; the session keeps that there were 16.
TEST(LevelNotes, ASessionOfCountsStatesNothingThatItDoesNotKeep) {
  const test::TemporaryFolder folder;
  const auto run = recorded_scenario(folder, "shared_prefix_align", RecordLevel::counts);
  ASSERT_TRUE(run->go_to(3).ok());
  EXPECT_EQ(make_pool_model(*run).not_kept, kOfPool);
  EXPECT_TRUE(make_pool_model(*run).cells.empty());
  const BlockStory story = make_block_story(*run, 2);
  EXPECT_THAT(story.not_kept, HasSubstr("recorded at level counts"));
  EXPECT_TRUE(story.facts.empty());
  EXPECT_EQ(no_lookups_words(*run),
            "The session keeps no prefix cache lookups: it was recorded at level counts.");
  EXPECT_EQ(not_kept(*run, "block tables"),
            "The session keeps no block tables: it was recorded at level counts.");
  EXPECT_FALSE(make_graph_padding_model(*run).rows.has_value());
  EXPECT_EQ(make_graph_padding_model(*run).tokens.real, 13);
  EXPECT_TRUE(make_metadata_model(*run, {}).sections.empty());
}

TEST(LevelNotes, WordsOfASessionOfCountsNameNoRequestsAndSayWhy) {
  const test::TemporaryFolder folder;
  const auto run = recorded_scenario(folder, "shared_prefix_align", RecordLevel::counts);
  ASSERT_TRUE(run->go_to(3).ok());
  const std::string words = step_in_words(*run);
  EXPECT_THAT(words, Not(HasSubstr("of 0 requests")));
  EXPECT_THAT(words, Not(HasSubstr("No request got a token")));
  EXPECT_THAT(words, HasSubstr("recorded at level counts"));
  EXPECT_THAT(words, HasSubstr("B = 8 in group 0"));
}

TEST(LevelNotes, OnlyASessionOfBlocksSaysThatContentsAreNotKept) {
  const test::TemporaryFolder folder;
  for (const RecordLevel level : {RecordLevel::counts, RecordLevel::full}) {
    const auto run = recorded_scenario(folder, "plain_decode", level);
    ASSERT_TRUE(run->go_to(1).ok());
    EXPECT_EQ(contents_not_kept(*run), "");
  }
  const auto run = recorded_scenario(folder, "plain_decode", RecordLevel::blocks);
  ASSERT_TRUE(run->go_to(1).ok());
  EXPECT_THAT(contents_not_kept(*run), HasSubstr("recorded at level blocks"));
  EXPECT_EQ(not_kept(*run, "block tables"), "");
}

}  // namespace
}  // namespace hybridscope::level_notes_test
