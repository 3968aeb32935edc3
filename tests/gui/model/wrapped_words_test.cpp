#include "gui/model/word_wrap.h"

#include <gtest/gtest.h>

namespace hybridscope::wrapped_words_test {
namespace {

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

}  // namespace
}  // namespace hybridscope::wrapped_words_test
