#include "gui/model/palette_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace hybridscope::fuzzy_match_test {
namespace {

using ::testing::ElementsAre;

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
  EXPECT_EQ(fuzzy_match("", "Step"), FuzzyMatch{.kind = MatchKind::begins});
  EXPECT_EQ(fuzzy_match("  ", ""), FuzzyMatch{.kind = MatchKind::begins});
  EXPECT_EQ(fuzzy_match("s", ""), std::nullopt);
}

MatchKind kind(std::string_view query, std::string_view title) {
  const auto match = fuzzy_match(query, title);
  EXPECT_TRUE(match.has_value());
  return match ? match->kind : MatchKind::scattered;
}

TEST(FuzzyMatch, TheKindSaysHowWellTheyAgree) {
  EXPECT_EQ(kind("go to step", "Go to step"), MatchKind::whole);
  EXPECT_EQ(kind(" go t ", "Go to step"), MatchKind::begins);
  EXPECT_EQ(kind("goto", "Go to step"), MatchKind::begins);
  EXPECT_EQ(kind("step", "Go to step"), MatchKind::words);
  EXPECT_EQ(kind("go st", "Go to step"), MatchKind::words);
  EXPECT_EQ(kind("cop", "state_copies"), MatchKind::words);
  EXPECT_EQ(kind("tep", "Go to step"), MatchKind::inside);
  EXPECT_EQ(kind("gts", "Go to step"), MatchKind::scattered);
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

// The best score alone would take "Block Tables: ..." for what stands together behind it.
TEST(FuzzyMatch, MarkedIsWhatMakesTheMatchItsKind) {
  EXPECT_THAT(places("bat", "Batch rows"), ElementsAre(0, 1, 2));
  EXPECT_THAT(places("bat", "Save Bar: acrobat"), ElementsAre(14, 15, 16)) << "inside";
  EXPECT_THAT(places("ta", "Start: stale Tab"), ElementsAre(13, 14)) << "a word begins so";
  EXPECT_THAT(places("g t s", "Go to step"), ElementsAre(0, 3, 6)) << "three words";
  EXPECT_THAT(places("goto", "Go to step"), ElementsAre(0, 1, 3, 4)) << "without the space";
  EXPECT_THAT(places("o st", "Go to step"), ElementsAre(4, 6, 7)) << "with the space inside";
}

TEST(Contains, IgnoresCaseAndFindsAnEmptyPartEverywhere) {
  EXPECT_TRUE(contains("Block tables", "TABLE"));
  EXPECT_TRUE(contains("", ""));
  EXPECT_FALSE(contains("Block", "blocks"));
}

}  // namespace
}  // namespace hybridscope::fuzzy_match_test
