#include "storage/session_rows.h"

#include <gmock/gmock.h>

#include "storage/session_file.h"

namespace hybridscope::test::session_text_test {
namespace {

using testing::HasSubstr;

TEST(SessionText, Utf8IsWhatTheStandardSays) {
  for (const char* text : {"", "plain", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80",
                           "\xED\x9F\xBF", "\xF4\x8F\xBF\xBF"})
    EXPECT_TRUE(check_note(text).ok()) << text;
  for (const char* text :
       {"\x80", "\xC3", "\xC0\x80", "\xE2\x82", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
        "\xF4\x90\x80\x80", "\xFF", "a\xC3(", "\xE2\x28\xA1"})
    EXPECT_FALSE(check_note(text).ok()) << text;
}

TEST(SessionText, ANameMayHaveQuotesAndTagsButNoControlCharacters) {
  EXPECT_TRUE(check_session_name("it's \"<b>before</b>\" & : / \xE2\x82\xAC").ok());
  EXPECT_TRUE(check_session_name(std::string(200, 'x')).ok());
  EXPECT_THAT(check_session_name("").error().message, HasSubstr("empty"));
  EXPECT_THAT(check_session_name("  ").error().message, HasSubstr("blank"));
  EXPECT_THAT(check_session_name(std::string(201, 'x')).error().message,
              HasSubstr("at most 200 bytes, this one has 201"));
  EXPECT_THAT(check_session_name("a\nb").error().message, HasSubstr("byte 1"));
  EXPECT_THAT(check_session_name("ab\x7F").error().message, HasSubstr("byte 2"));
  EXPECT_THAT(check_session_name("\xC2\x85").error().message, HasSubstr("control"));
  EXPECT_THAT(check_session_name("a\xFF").error().message, HasSubstr("UTF-8; byte 1"));
  EXPECT_EQ(check_session_name("\x1B[2J").error().kind, ErrorKind::invalid_input);
}

TEST(SessionText, ANoteMayHaveAnythingThatIsText) {
  EXPECT_TRUE(check_note("").ok());
  EXPECT_TRUE(check_note("two\nlines\t<script>'\"").ok());
  EXPECT_TRUE(check_note(std::string(1 << 20, 'x')).ok());
  EXPECT_FALSE(check_note(std::string((1 << 20) + 1, 'x')).ok());
  EXPECT_FALSE(check_note("\xFE").ok());
  EXPECT_FALSE(check_note(std::string_view("a\0b", 3)).ok());
}

TEST(SessionText, ASourceGivesANameThatDoes) {
  EXPECT_EQ(name_of_source("scenarios/align_boundary.json"), "align_boundary");
  EXPECT_EQ(name_of_source("synthetic traffic"), "synthetic traffic");
  EXPECT_EQ(name_of_source("dir/\x1B[31m\xFF.jsonl"), "_[31m_");
  EXPECT_EQ(name_of_source(""), "session");
  EXPECT_EQ(name_of_source(std::string(500, 'a')).size(), 176U);
}

TEST(SessionPlace, TheNameStandsBehindTheLastColonThatFollowsAFile) {
  EXPECT_EQ(parse_session_place("runs.db").file, "runs.db");
  EXPECT_EQ(parse_session_place("runs.db").name, "");
  EXPECT_EQ(parse_session_place("runs.db:before the fix").name, "before the fix");
  EXPECT_EQ(parse_session_place("RUNS.DB:before").name, "before");
  EXPECT_EQ(parse_session_place("Runs.Sqlite3:before").file, "Runs.Sqlite3");
  EXPECT_EQ(parse_session_place("a:b/runs.db:x").file, "a:b/runs.db");
  EXPECT_EQ(parse_session_place("runs.db:a:b").name, "a:b");
  EXPECT_EQ(parse_session_place("runs.db:").name, "");
  EXPECT_EQ(parse_session_place("runs.txt:a").file, "runs.txt:a");
}

TEST(SessionPlace, EveryEndingOfADatabaseEndsTheFile) {
  for (const std::string file : {"runs.db", "runs.db3", "runs.sqlite", "runs.sqlite3"}) {
    EXPECT_EQ(parse_session_place(file + ":before").file, file);
    EXPECT_EQ(parse_session_place(file + ":before").name, "before");
  }
}

}  // namespace
}  // namespace hybridscope::test::session_text_test
