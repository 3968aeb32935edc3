#include "sessions/text/text_page.h"

#include <gtest/gtest.h>

namespace hybridscope::text_page_test {
namespace {

TEST(TextPage, WrapsUnderTheWordsOfAnItem) {
  TextPage page;
  page.item("label", 8, std::string(60, 'a') + " " + std::string(40, 'b'));
  EXPECT_EQ(page.text(),
            "  label     " + std::string(60, 'a') + "\n            " + std::string(40, 'b') + "\n");
}

TEST(TextPage, KeepsAClauseTogetherWhenItFitsALine) {
  TextPage page;
  page.line(std::string(80, 'a') + "; one two three four five");
  EXPECT_EQ(page.text(), "  " + std::string(80, 'a') + ";\n    one two three four five\n");
}

TEST(TextPage, BreaksAClauseThatFitsNoLine) {
  TextPage page;
  page.line("start; " + std::string(60, 'a') + " " + std::string(60, 'b'));
  EXPECT_EQ(page.text(),
            "  start; " + std::string(60, 'a') + "\n    " + std::string(60, 'b') + "\n");
}

TEST(TextPage, HasNoTrailingSpaces) {
  TextPage page;
  page.item("label", 20, "");
  page.table({{"a", false}, {"b", false}}, {{"long text", ""}});
  EXPECT_EQ(page.text(), "  label\n  a          b\n  long text\n");
}

TEST(TextPage, AlignsNumbersRightAndWordsLeft) {
  TextPage page;
  page.table({{"name", false}, {"count", true}}, {{"A", "7"}, {"long name", "123456"}});
  EXPECT_EQ(page.text(), "  name        count\n  A               7\n  long name  123456\n");
}

TEST(TextPage, BreaksTheWidestWordsOfATableThatIsTooWide) {
  TextPage page;
  page.table({{"name", false}, {"n", true}}, {{std::string(120, 'x'), "5"}, {"y", "6"}});
  EXPECT_EQ(page.text(), "  name" + std::string(91, ' ') + "  n\n  " + std::string(95, 'x') +
                             "  5\n  " + std::string(25, 'x') + "\n  y" + std::string(94, ' ') +
                             "  6\n");
}

TEST(TextPage, BreaksACellBehindAMarkBetweenWords) {
  TextPage page;
  const std::string head(40, 'x');
  page.table({{"a"}, {"b"}}, {{head + "_longer_copies", head + " and copies"}});
  EXPECT_EQ(page.text(), "  a" + std::string(49, ' ') + "b\n  " + head + "_longer_  " + head +
                             " and\n  copies" + std::string(44, ' ') + "copies\n");
}

TEST(TextPage, BreaksNoCharacterOfACell) {
  TextPage page;
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "\xC3\xA4";
  page.table({{"a"}}, {{umlauts}});
  EXPECT_EQ(page.text(), "  a\n  " + umlauts.substr(0, 196) + "\n  " + umlauts.substr(196) + "\n");
}

TEST(TextPage, CountsCodePointsNotBytes) {
  EXPECT_EQ(text_width("\xC3\xA4\xC3\xB6"), 2U);
  EXPECT_EQ(clip_text("\xC3\xA4\xC3\xB6\xC3\xBC\xC3\x9F", 3), "\xC3\xA4..");
  EXPECT_EQ(pad_text("\xC3\xA4", 3), "\xC3\xA4  ");
}

TEST(TextPage, HeadingsNameTheirSource) {
  TextPage page;
  page.heading("Commit", "vLLM v1/core/sched/scheduler.py update_from_output");
  EXPECT_EQ(page.text(), "\nCommit (vLLM v1/core/sched/scheduler.py update_from_output)\n");
}

TEST(TextPage, ATableOfANarrowPageHasASentenceForEachRow) {
  TextPage page(24);
  page.table({{"request"}, {"how"}, {"c", true}, {"preemptions", true}},
             {{"A", "running", "13", "0"}, {"B", "", "8", "1"}});
  EXPECT_EQ(page.text(),
            "  request A;\n"
            "    how running; c 13;\n"
            "    preemptions 0\n"
            "  request B; c 8;\n"
            "    preemptions 1\n");
}

TEST(TextPage, ColumnsOfWordsWrapWhileTheyCanBeRead) {
  TextPage page(24);
  page.table({{"request"}, {"c", true}}, {{"a request with a name", "13"}});
  EXPECT_EQ(page.text(),
            "  request              c\n"
            "  a request with a    13\n"
            "  name\n");
}

TEST(TextPage, ALongLabelLeavesHalfOfANarrowPageToItsWords) {
  TextPage page(20);
  page.item("a label of sixteen", 18, "one two three four");
  EXPECT_EQ(page.text(), "  a label of sixteen  one\n          two three\n          four\n");
}

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

}  // namespace hybridscope::text_page_test
