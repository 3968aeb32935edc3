#include "gui/model/fuzzy_match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace hybridscope::fuzzy_match_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::size_t> places(std::string_view query, std::string_view title) {
  const auto match = fuzzy_match(query, title);
  return match ? match->positions : std::vector<std::size_t>{};
}

std::int32_t score(std::string_view query, std::string_view title) {
  const auto match = fuzzy_match(query, title);
  return match ? match->score : -1;
}

TEST(FuzzyMatch, CharactersComeInTheirOrderAnywhere) {
  EXPECT_THAT(places("gr", "Go to request"), ElementsAre(0, 6));
  EXPECT_THAT(places("stp", "Step back"), ElementsAre(0, 1, 3));
  EXPECT_EQ(fuzzy_match("rg", "Go to request"), std::nullopt);
  EXPECT_EQ(fuzzy_match("steps", "Step"), std::nullopt);
  EXPECT_EQ(fuzzy_match("tt", "Step"), std::nullopt);
}

TEST(FuzzyMatch, CaseAndSpacesOfTheQueryDoNotCount) {
  EXPECT_EQ(fuzzy_match("GO TO", "Go to step"), fuzzy_match("goto", "Go to step"));
  EXPECT_EQ(fuzzy_match("goto", "GO TO STEP"), fuzzy_match("goto", "Go to step"));
}

TEST(FuzzyMatch, AnEmptyQueryMatchesEverything) {
  EXPECT_EQ(fuzzy_match("", "Step"), FuzzyMatch{});
  EXPECT_EQ(fuzzy_match("  ", ""), FuzzyMatch{});
  EXPECT_EQ(fuzzy_match("s", ""), std::nullopt);
}

// 1 a character, 8 at the start of the title, 6 at that of a word, 5 beside the one before.
TEST(FuzzyMatch, ScoresAddUp) {
  EXPECT_EQ(score("p", "Step"), 1);
  EXPECT_EQ(score("s", "Step"), 9);
  EXPECT_EQ(score("st", "Step"), 9 + 6);
  EXPECT_EQ(score("sp", "Step"), 9 + 1);
  EXPECT_EQ(score("s", "Go to step"), 7);
  EXPECT_EQ(score("gs", "Go to step"), 9 + 7);
}

TEST(FuzzyMatch, OfSeveralPlacesTheBestIsTaken) {
  EXPECT_THAT(places("re", "Prepare request"), ElementsAre(8, 9));
  EXPECT_THAT(places("bt", "Subset of block table"), ElementsAre(10, 16));
  EXPECT_THAT(places("tab", "To a table"), ElementsAre(5, 6, 7));
}

TEST(FuzzyMatch, WordsBeginBehindPunctuationAndAtHumps) {
  EXPECT_THAT(places("gt", "sting.go_to"), ElementsAre(6, 9));
  EXPECT_THAT(places("bt", "abbotBlockTable"), ElementsAre(5, 10));
  EXPECT_EQ(score("2", "v 2"), 7);
}

TEST(FuzzyMatch, BytesBeyondAsciiAreComparedAsTheyAre) {
  EXPECT_THAT(places("\xC3\xA9t", "caf\xC3\xA9 trace"), ElementsAre(3, 4, 6));
  EXPECT_EQ(score("t", "\xC3\xA9tat"), 1);  // no word begins at the first t
}

std::vector<std::string> ranked(std::string_view query,
                                const std::vector<std::string_view>& titles) {
  std::vector<std::string> names;
  for (const RankedMatch& row : rank_titles(query, titles)) names.emplace_back(titles[row.index]);
  return names;
}

TEST(RankTitles, TheTitleThatBeginsWithTheQueryIsFirstAndTheShorterOfTwo) {
  EXPECT_THAT(ranked("step", {"Go to step", "Step back", "Stop at a prefix hit", "Step"}),
              ElementsAre("Step", "Step back", "Go to step"));
}

TEST(RankTitles, FirstLettersOfWordsComeBeforeLettersInside) {
  EXPECT_THAT(ranked("gtr", {"Get a trace", "Grow the group", "Go to request"}),
              ElementsAre("Go to request", "Get a trace", "Grow the group"));
}

TEST(RankTitles, APieceOfAWordComesBeforeScatteredLetters) {
  EXPECT_THAT(ranked("diff", {"Drop idle files off", "Open diff"}),
              ElementsAre("Open diff", "Drop idle files off"));
}

// More than small sorts handle.
TEST(RankTitles, EqualsKeepTheirOrder) {
  std::vector<std::string> titles;
  for (int i = 99; i >= 10; --i) titles.push_back("Step " + std::to_string(i));
  const std::vector<std::string_view> views(titles.begin(), titles.end());
  EXPECT_EQ(ranked("s", views), titles);
}

TEST(RankTitles, AnEmptyQueryKeepsAllInTheirOrder) {
  EXPECT_THAT(ranked(" ", {"Step back", "Go", "Run"}), ElementsAre("Step back", "Go", "Run"));
  EXPECT_THAT(ranked("x", {"Step back", "Go", "Run"}), IsEmpty());
}

}  // namespace
}  // namespace hybridscope::fuzzy_match_test
