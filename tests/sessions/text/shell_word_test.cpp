#include "sessions/text/shown_text.h"

#include <gtest/gtest.h>

namespace hybridscope::shell_word_test {
namespace {

TEST(ShellWord, IsQuotedWhereAShellWouldReadItOtherwise) {
  EXPECT_EQ(shell_word("scenarios/a_1.json"), "scenarios/a_1.json");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("two chats"), "'two chats'");
  EXPECT_EQ(shell_word("it's $HOME"), "'it'\\''s $HOME'");
}

}  // namespace
}  // namespace hybridscope::shell_word_test
