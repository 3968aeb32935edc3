#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sessions/text/number_words.h"
#include "sessions/text/shown_text.h"
#include "sessions/text/text_page.h"

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

TEST(ByteSize, UnitsWithAnIArePowersOf1024) {
  EXPECT_EQ(parse_byte_size("60GiB").value(), 64424509440);
  EXPECT_EQ(parse_byte_size("512MiB").value(), 536870912);
  EXPECT_EQ(parse_byte_size("3KiB").value(), 3072);
  EXPECT_EQ(parse_byte_size("1TiB").value(), 1099511627776);
}

TEST(ByteSize, UnitsWithoutAnIArePowersOf1000) {
  EXPECT_EQ(parse_byte_size("80GB").value(), 80000000000);
  EXPECT_EQ(parse_byte_size("2kB").value(), 2000);
  EXPECT_EQ(parse_byte_size("5TB").value(), 5000000000000);
}

TEST(ByteSize, APlainNumberIsBytes) {
  EXPECT_EQ(parse_byte_size("4096").value(), 4096);
  EXPECT_EQ(parse_byte_size("7 B").value(), 7);
  EXPECT_EQ(parse_byte_size("0").value(), 0);
}

TEST(ByteSize, FractionsAreExactAndCutDown) {
  EXPECT_EQ(parse_byte_size("1.5GiB").value(), 1610612736);
  EXPECT_EQ(parse_byte_size("0.1KiB").value(), 102);
  EXPECT_EQ(parse_byte_size("1.999B").value(), 1);
}

TEST(ByteSize, CaseAndASpaceDoNotMatter) {
  EXPECT_EQ(parse_byte_size("60 gib").value(), 64424509440);
  EXPECT_EQ(parse_byte_size("60GIB").value(), 64424509440);
}

TEST(ByteSize, TheLargestValueIsJustBelow2To63) {
  EXPECT_EQ(parse_byte_size("9223372036854775807").value(), 9223372036854775807);
  EXPECT_FALSE(parse_byte_size("9223372036854775808").ok());
  EXPECT_FALSE(parse_byte_size("8388608TiB").ok());
  EXPECT_EQ(parse_byte_size("8388607.999999TiB").value(), 9223372036853676296);
}

TEST(ByteSize, OtherTextsAreErrorsThatShowTheText) {
  for (const char* text : {"", "GiB", "-5", "1e9", "60GiBs", "60 GiB ", "1.GiB", ".5GiB", "0x10",
                           "1.1234567GiB", "12345678901234567890", "6 0GiB", "60Gi"})
    EXPECT_FALSE(parse_byte_size(text).ok()) << text;
  EXPECT_EQ(parse_byte_size("60Gi").error().message,
            "\"60Gi\" is not a byte size (expected a number with a unit such as 60GiB, 512MiB or "
            "4096)");
}

TEST(ByteSize, FormattingPicksTheLargestUnitThatIsExact) {
  EXPECT_EQ(format_byte_size(64424509440), "60GiB");
  EXPECT_EQ(format_byte_size(1610612736), "1536MiB");
  EXPECT_EQ(format_byte_size(1099511627776), "1TiB");
  EXPECT_EQ(format_byte_size(4097), "4097");
  EXPECT_EQ(format_byte_size(0), "0");
}

TEST(ByteSize, WhatIsFormattedReadsBack) {
  for (std::int64_t bytes = 1; bytes > 0 && bytes < (std::int64_t{1} << 61);
       bytes = bytes * 3 + 1024)
    EXPECT_EQ(parse_byte_size(format_byte_size(bytes)).value(), bytes);
}

TEST(Decimal, FractionsAreExactMillionths) {
  EXPECT_EQ(parse_millionths("5"), 5'000'000);
  EXPECT_EQ(parse_millionths("0.25"), 250'000);
  EXPECT_EQ(parse_millionths("0.1"), 100'000);
  EXPECT_EQ(parse_millionths("19440110.0"), 19'440'110'000'000);
  EXPECT_EQ(parse_millionths("1.0000019"), 1'000'001);
}

TEST(Decimal, AnythingElseIsNone) {
  for (const char* text : {"", ".5", "5.", "-1", "+1", "1e3", " 1", "1 ", "1,5", "0x1", "1.2.3",
                           "1.000000x", "9223372036855", "99999999999999999999"})
    EXPECT_EQ(parse_millionths(text), std::nullopt) << text;
  EXPECT_EQ(parse_millionths("9223372036854.775807"), 9'223'372'036'854'775'807);
}

TEST(Decimal, TextsAreTheShortestThatReadBack) {
  EXPECT_EQ(format_millionths(0), "0");
  EXPECT_EQ(format_millionths(2'500'000), "2.5");
  EXPECT_EQ(format_millionths(1), "0.000001");
  EXPECT_EQ(format_millionths(70'000'000), "70");
}

TEST(NumberWords, NumbersAreGroupedByThousands) {
  EXPECT_EQ(grouped_number(0), "0");
  EXPECT_EQ(grouped_number(999), "999");
  EXPECT_EQ(grouped_number(1000), "1,000");
  EXPECT_EQ(grouped_number(64424509440), "64,424,509,440");
  EXPECT_EQ(grouped_number(-100), "-100");
  EXPECT_EQ(grouped_number(-1000), "-1,000");
}

TEST(NumberWords, OneThingIsSingular) {
  EXPECT_EQ(counted(0, "finding"), "0 findings");
  EXPECT_EQ(counted(1, "finding"), "1 finding");
  EXPECT_EQ(counted(12031, "finding"), "12,031 findings");
}

TEST(HtmlText, SpellsControlCharactersAsTheTerminalDoes) {
  EXPECT_EQ(html_escaped("a\x1B\xC2\x9B\xE2\x80\xAE\xFF<b>"), "a\\x1B\\u009B\\u202E\\xFF&lt;b&gt;");
  EXPECT_EQ(html_escaped("two\nlines\t"), "two\nlines\t");
}

TEST(HtmlText, NoTextEndsItsElementOrItsAttribute) {
  EXPECT_EQ(html_escaped("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; 'd'");
}

TEST(ScriptSafeJson, NoTextEndsTheScriptItStandsIn) {
  EXPECT_EQ(script_safe_json(nlohmann::json("</script><!-- & \u2028 \xff \"")),
            R"("\u003c/script\u003e\u003c!-- \u0026 \u2028 \ufffd \"")");
}

TEST(HtmlText, AMarkIsReplacedOnceAndTheTextThatComesInStaysAsItIs) {
  std::string page = "<p>@name@</p><b>@name@</b>";
  fill_mark(page, "@name@", "@name@!");
  EXPECT_EQ(page, "<p>@name@!</p><b>@name@</b>");
}

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

}  // namespace hybridscope::shown_text_test
