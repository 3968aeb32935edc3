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

}  // namespace
}  // namespace hybridscope::word_wrap_test
