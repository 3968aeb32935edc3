#include "sessions/text/text_page.h"

#include <gtest/gtest.h>

namespace hybridscope::text_table_test {
namespace {

TEST(TextTable, AlignsNumbersRightAndWordsLeft) {
  TextTable table({"<name", "steps"});
  table.add({"a", "3"});
  table.add({"longer", "12,031"});
  EXPECT_EQ(table.format(),
            "name     steps\n"
            "a            3\n"
            "longer  12,031\n");
}

TEST(TextTable, CountsCharactersNotBytes) {
  TextTable table({"<name", "n"});
  table.add({"\xC3\xA9", "1"});  // one column wide
  EXPECT_EQ(table.format(), "name  n\n\xC3\xA9     1\n");
}

TEST(TextTable, CountsTheColumnsOfATerminal) {
  EXPECT_EQ(display_width("\xE6\x97\xA5\xE6\x9C\xAC"), 4u);  // two kanji
  EXPECT_EQ(display_width("e\xCC\x81"), 1u);                 // e and a combining acute
  EXPECT_EQ(display_width("\xF0\x9F\x98\x80"), 2u);          // an emoji
  TextTable table({"<name", "n"});
  table.add({"\xE6\x97\xA5\xE6\x9C\xAC", "1"});
  EXPECT_EQ(table.format(), "name  n\n\xE6\x97\xA5\xE6\x9C\xAC  1\n");
}

TEST(Printable, WhatTurnsTheDirectionOfTextIsEscaped) {
  EXPECT_EQ(printable("a\xE2\x80\xAE"
                      "b"),
            "a\\u202E"
            "b");                                   // U+202E
  EXPECT_EQ(printable("\xE2\x81\xA6"), "\\u2066");  // U+2066
}

TEST(Printable, KeepsTextOnOneLineAndOutOfTheTerminal) {
  EXPECT_EQ(printable("plain \xC3\xA9"), "plain \xC3\xA9");
  EXPECT_EQ(printable("a\nb\tc"), "a\\nb\\x09c");
  EXPECT_EQ(printable("\x1b[2J"), "\\x1B[2J");
  EXPECT_EQ(printable("\xff\xc3"), "\\xFF\\xC3");
  EXPECT_EQ(printable("\xc2\x9b"), "\\u009B");  // an 8-bit control sequence
}

TEST(Printable, CutsWhatIsTooWide) {
  EXPECT_EQ(printable("abcdef", 4), "abcd...");
  EXPECT_EQ(printable("abcd", 4), "abcd");
}

}  // namespace
}  // namespace hybridscope::text_table_test
