#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "gui/model/word_wrap.h"

namespace hybridscope::word_wrap_test {
namespace {

// Every byte is one pixel wide.
std::string wrapped(std::string_view text, float width) {
  return wrap_words(text, width,
                    [](std::string_view piece) { return static_cast<float>(piece.size()); });
}

TEST(WrapWords, AVersionIsNotBrokenBehindItsDots) {
  EXPECT_EQ(wrapped("V1: 0.24.0 to 0.26.0", 16), "V1: 0.24.0 to\n0.26.0");
}

TEST(WrapWords, ANameOfCodeIsNotBroken) {
  EXPECT_EQ(wrapped("the field groups.accepted", 20), "the field\ngroups.accepted");
}

TEST(WrapWords, LinesThatFitStayAsTheyAre) {
  EXPECT_EQ(wrapped("  one two\n\nthree ", 9), "  one two\n\nthree ");
}

TEST(WrapWords, AWordThatIsTooWideIsBrokenBehindAMark) {
  EXPECT_EQ(wrapped("groups.accepted_counts_given", 16), "groups.accepted_\ncounts_given");
}

TEST(WrapWords, AWordWithoutMarksIsBrokenWhereTheRoomEnds) {
  EXPECT_EQ(wrapped("abcdefgh ij", 5), "abcde\nfgh\nij");
}

TEST(WrapWords, ALineHasALetterEvenWhereNoneFits) { EXPECT_EQ(wrapped("abc", 0), "a\nb\nc"); }

TEST(WrapWords, LettersOfSeveralBytesStayWhole) {
  EXPECT_EQ(wrapped("\u00e9\u00e9\u00e9", 4), "\u00e9\u00e9\n\u00e9");
}

// Of a made-up font in which every byte is one pixel wide.
std::string cut_at_end(std::string_view text, float width) {
  return cut_end(text, width,
                 [](std::string_view piece) { return static_cast<float>(piece.size()); });
}
std::string cut_in_middle(std::string_view text, float width) {
  return cut_middle(text, width,
                    [](std::string_view piece) { return static_cast<float>(piece.size()); });
}

TEST(CutWords, ATextThatFitsIsNotCut) {
  EXPECT_EQ(cut_at_end("request", 7), "request");
  EXPECT_EQ(cut_in_middle("request", 7), "request");
  EXPECT_EQ(cut_at_end(std::string(300, 'a'), 300), std::string(300, 'a'));
  EXPECT_EQ(cut_in_middle(std::string(300, 'a'), 300), std::string(300, 'a'));
}

TEST(CutWords, AsMuchAsFitsIsKeptBesideThreeDots) {
  EXPECT_EQ(cut_at_end("chatcmpl-0123", 8), "chatc...");
  EXPECT_EQ(cut_in_middle("chatcmpl-0123", 8), "cha...23");
  EXPECT_EQ(cut_in_middle("chatcmpl-0123", 9), "cha...123");
}

TEST(CutWords, ThereAreThreeDotsEvenWhereTheyDoNotFit) {
  EXPECT_EQ(cut_at_end("request", 2), "...");
  EXPECT_EQ(cut_in_middle("request", 2), "...");
}

TEST(CutWords, LettersOfSeveralBytesStayWhole) {
  EXPECT_EQ(cut_at_end("\u00e9\u00e9\u00e9\u00e9", 6), "\u00e9...");
  EXPECT_EQ(cut_in_middle("\u00e9\u00e9\u00e9\u00e9", 7), "\u00e9...\u00e9");
  EXPECT_EQ(first_bytes("\u00e9\u00e9", 3), "\u00e9");
  EXPECT_EQ(first_bytes("\u00e9\u00e9", 4), "\u00e9\u00e9");
}

// A name of 30,000 letters is somebody's request id. What is measured is what is shown of it: one
// letter that does not fit any more, each letter of what does, and the dots.
TEST(CutWords, WhatIsMeasuredGrowsWithTheRoomAndNotWithTheName) {
  const std::string name(30'000, 'a');
  std::size_t measured = 0;
  const auto measure = [&](std::string_view piece) {
    measured += piece.size();
    return static_cast<float>(piece.size());
  };
  EXPECT_EQ(cut_end(name, 100, measure).size(), 100u);
  EXPECT_EQ(measured, 101u + 3u + 98u);
  measured = 0;
  EXPECT_EQ(cut_middle(name, 100, measure).size(), 100u);
  EXPECT_EQ(measured, 101u + 3u + 98u);
}

// 300 lines of 100 letters; each line is measured when its word is, and when it is cut.
TEST(WrapWords, ALongWordIsMeasuredAFewTimes) {
  const std::string name(30'000, 'a');
  std::size_t measured = 0;
  const std::string wrapped = wrap_words(name, 100, [&](std::string_view piece) {
    measured += piece.size();
    return static_cast<float>(piece.size());
  });
  EXPECT_EQ(wrapped.size(), 30'000u + 299u);
  EXPECT_LE(measured, 3u * 30'000u);
}

using testing::ElementsAre;

// A number, a name and words.
constexpr std::array<ColumnNeed, 3> kNeeds = {{{20, 20}, {60, 40}, {120, 60}}};

TEST(FitColumns, EachHasWhatItWantsWhereThereIsRoom) {
  const ColumnFit fit = fit_columns(kNeeds, 300);
  EXPECT_TRUE(fit.fits);
  EXPECT_THAT(fit.widths, ElementsAre(20, 60, 120));
}

// 40 of the 80 that can be given are missing: each gives a half of what it can.
TEST(FitColumns, WordsGiveWayAndNumbersDoNot) {
  const ColumnFit fit = fit_columns(kNeeds, 160);
  EXPECT_TRUE(fit.fits);
  EXPECT_THAT(fit.widths, ElementsAre(20, 50, 90));
}

TEST(FitColumns, WhereTheLeastDoesNotFitTheTableScrolls) {
  const ColumnFit fit = fit_columns(kNeeds, 119);
  EXPECT_FALSE(fit.fits);
  EXPECT_THAT(fit.widths, ElementsAre(20, 60, 120)) << "so no word is cut";
}

// A number, a name of 41 letters that may have 70, and a remark that may have 40.
TEST(FitColumns, NamesGiveWayBeforeOtherWords) {
  const std::array<ColumnNeed, 3> needs = {{{20, 20}, {290, 70, true}, {60, 40}}};
  EXPECT_THAT(fit_columns(needs, 200).widths, ElementsAre(20, 120, 60));
  EXPECT_THAT(fit_columns(needs, 140).widths, ElementsAre(20, 70, 50));
}

// 32, 52 and 42 with the gaps: 126.
TEST(WholeColumns, TheVisibleEdgeCutsNoColumn) {
  const std::array<float, 4> widths = {20, 40, 30, 50};
  EXPECT_EQ(whole_columns(widths, {.room = 150, .gap = 12}), 126);
  EXPECT_EQ(whole_columns(widths, {.room = 126, .gap = 12}), 126);
  EXPECT_EQ(whole_columns(widths, {.room = 125, .gap = 12}), 84);
  EXPECT_EQ(whole_columns(widths, {.room = 125, .gap = 12, .least = 3}), 125) << "else too few";
}

TEST(FitColumns, NumbersAloneAreNeverNarrower) {
  const std::array<ColumnNeed, 2> numbers = {{{20, 20}, {30, 30}}};
  EXPECT_THAT(fit_columns(numbers, 10).widths, ElementsAre(20, 30));
}

TEST(WrapLines, LinesThatFitStayAsTheyAre) {
  EXPECT_EQ(wrap_lines("Step 4\n\n  budget  8192\n", 14), "Step 4\n\n  budget  8192\n");
}

TEST(WrapLines, PiecesStandUnderTheWordsBehindTheLabel) {
  EXPECT_EQ(wrap_lines("  A   known 9 + drafts 1", 16),
            "  A   known 9 +\n"
            "      drafts 1");
}

TEST(WrapLines, WithoutALabelPiecesAreIndentedByTwoMore) {
  EXPECT_EQ(wrap_lines("  one two three", 9),
            "  one two\n"
            "    three");
}

TEST(WrapLines, TheIndentIsHalfOfTheColumnsAtMost) {
  EXPECT_EQ(wrap_lines("a label  one two", 12),
            "a label  one\n"
            "      two");
}

TEST(WrapLines, AWordThatIsTooLongIsCut) {
  EXPECT_EQ(wrap_lines("abcdefghij", 6),
            "abcdef\n"
            "  ghij");
  EXPECT_EQ(wrap_lines("abc", 1), "a\nb\nc");
}

TEST(WrapLines, LettersOfSeveralBytesCountOnce) {
  EXPECT_EQ(wrap_lines("\u00e9\u00e9 \u00e9\u00e9", 5), "\u00e9\u00e9 \u00e9\u00e9");
  EXPECT_EQ(wrap_lines("\u00e9\u00e9\u00e9\u00e9", 3), "\u00e9\u00e9\u00e9\n \u00e9");
}

// Rows of 30, 50, 20 and 40 pixels.
constexpr std::array<float, 5> kEdges = {0, 30, 80, 100, 140};

float snapped(std::size_t wanted, float scroll, float room) {
  return snapped_scroll({.edges = kEdges, .wanted = wanted, .scroll = scroll, .room = room});
}

TEST(RowSnap, ARowThatIsSeenLeavesTheListWhereItIs) {
  EXPECT_EQ(snapped(1, 0, 80), 0);
  EXPECT_EQ(snapped(2, 30, 100), 30);
}

TEST(RowSnap, ARowAboveComesToTheTop) { EXPECT_EQ(snapped(0, 80, 60), 0); }

// 140 - 70 is inside row 1: row 2 is the first that may be at the top.
TEST(RowSnap, ARowBelowIsSeenAsAWholeUnderAWholeRow) { EXPECT_EQ(snapped(3, 0, 70), 80); }

TEST(RowSnap, ARowThatIsHigherThanTheRoomIsSeenFromItsBeginning) {
  EXPECT_EQ(snapped(1, 0, 40), 30);
}

TEST(RowSnap, AListThatBeginsInsideARowMovesToTheNextOne) { EXPECT_EQ(snapped(2, 10, 120), 30); }

}  // namespace

}  // namespace hybridscope::word_wrap_test
