#include "gui/model/word_wrap.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace hybridscope::word_wrap_test
