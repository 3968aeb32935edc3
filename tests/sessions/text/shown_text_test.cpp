#include "sessions/text/shown_text.h"

#include <gtest/gtest.h>

namespace hybridscope::shown_text_test {
namespace {

TEST(JoinedLines, AreOneLineWithoutIndentationAndWithoutMarksOfAPlace) {
  EXPECT_EQ(joined_lines("there is no field \"stp\"\n  stp > 1 and hits == 0\n  ^~~\n"
                         "did you mean \"step\"?"),
            "there is no field \"stp\"; stp > 1 and hits == 0; did you mean \"step\"?");
}

TEST(JoinedLines, OfOneLineAreThatLine) {
  EXPECT_EQ(joined_lines("a ^ b"), "a ^ b");
  EXPECT_EQ(joined_lines("a\n"), "a");
  EXPECT_EQ(joined_lines(""), "");
}

TEST(JoinedLines, LeaveOutLinesThatAreEmpty) { EXPECT_EQ(joined_lines("\n  a\n\n   \nb"), "a; b"); }

TEST(EscapeControls, OfEveryMarkThatChangesWhereOrHowTextIsShown) {
  EXPECT_EQ(escape_controls("a\x1B\u009B\u061C\u200E\u200F\u2028\u2029\u202E\u2066z"),
            R"(a\x1B\u009B\u061C\u200E\u200F\u2028\u2029\u202E\u2066z)");
  EXPECT_EQ(escape_controls("\u200D\u2030\u00E9"), "\u200D\u2030\u00E9");
}

TEST(ShellWord, IsQuotedWhereAShellWouldReadItOtherwise) {
  EXPECT_EQ(shell_word("scenarios/a_1.json"), "scenarios/a_1.json");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("two chats"), "'two chats'");
  EXPECT_EQ(shell_word("it's $HOME"), "'it'\\''s $HOME'");
}

}  // namespace

}  // namespace hybridscope::shown_text_test
