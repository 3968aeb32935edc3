#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include "storage/session_file.h"
#include "storage/session_query.h"
#include "storage/session_rows.h"
#include "tests/storage/recorded_run.h"

namespace hybridscope::test::session_file_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> names(const SessionFile& file) {
  std::vector<std::string> found;
  const auto sessions = file.sessions();
  for (const SessionInfo& info : sessions.value()) found.push_back(info.header.name);
  return found;
}

class SessionFileTest : public testing::Test {
 protected:
  void record(const std::string& name, RecordLevel level = RecordLevel::blocks) {
    const Status recorded = record_run(shipped_scenario("align_boundary_by_accepted_drafts"),
                                       {.place = {.file = path_, .name = name}, .level = level});
    ASSERT_TRUE(recorded.ok()) << recorded.error().message;
  }
  SessionFile open(FileAccess access = FileAccess::write) {
    return SessionFile::open(path_, access).value();
  }
  TemporaryFolder folder_;
  std::string path_ = folder_ / "runs.db";
};

TEST_F(SessionFileTest, ListsSessionsInTheOrderInWhichTheyWereBegun) {
  record("b");
  record("a", RecordLevel::counts);
  const SessionFile file = open(FileAccess::read);
  EXPECT_THAT(names(file), ElementsAre("b", "a"));
  const SessionInfo info = file.find("b").value();
  EXPECT_EQ(info.session, 1);
  EXPECT_EQ(info.header.kind, SessionKind::run);
  EXPECT_EQ(info.header.level, RecordLevel::blocks);
  EXPECT_EQ(info.header.source, "align boundary by accepted drafts");
  EXPECT_EQ(info.header.model, "tiny-mamba2");
  EXPECT_EQ(info.header.engine, "safe");
  EXPECT_EQ(info.header.plan.substr(0, 13), "{\"version\":1,");
  EXPECT_EQ(info.program, "hybridscope test");
  EXPECT_EQ(info.status, SessionStatus::complete);
  EXPECT_EQ(info.num_steps, 3);
  EXPECT_EQ(info.num_request_steps, 3);
  EXPECT_EQ(info.num_errors, 0);
  EXPECT_GT(info.created_us, 1'600'000'000'000'000);
  EXPECT_EQ(file.find("").value().header.name, "a");
}

TEST_F(SessionFileTest, ANameThatIsNotThereIsAnErrorThatListsTheNames) {
  record("one");
  record("two");
  const auto found = open(FileAccess::read).find("three");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().kind, ErrorKind::not_found);
  EXPECT_THAT(found.error().message,
              AllOf(HasSubstr("runs.db"), HasSubstr("\"three\""), HasSubstr("\"one\", \"two\"")));
}

TEST_F(SessionFileTest, ASessionGoesWithEverythingOfIt) {
  record("gone");
  record("stays");
  SessionFile file = open();
  ASSERT_TRUE(file.add_bookmark(1, 2, "look").ok());
  ASSERT_TRUE(file.remove(1).ok());
  EXPECT_THAT(names(file), ElementsAre("stays"));
  for (const std::string& table :
       query(path_,
             "SELECT t.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type "
             "= 'table' AND c.name = 'session'"))
    EXPECT_EQ(query_number(path_, "SELECT count(*) FROM " + table + " WHERE session = 1"), 0)
        << table;
  EXPECT_EQ(query_number(path_, "SELECT count(*) FROM steps WHERE session = 2"), 3);
  EXPECT_THAT(query(path_, "PRAGMA foreign_key_check"), IsEmpty());
  const Status again = file.remove(1);
  EXPECT_EQ(again.error().kind, ErrorKind::not_found);
}

TEST_F(SessionFileTest, ANameIsTakenOnce) {
  record("one");
  record("two");
  SessionFile file = open();
  const Status taken = file.rename(2, "one");
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().kind, ErrorKind::invalid_input);
  EXPECT_THAT(taken.error().message, HasSubstr("a session \"one\" already"));
  EXPECT_TRUE(file.rename(2, "two").ok());
  EXPECT_TRUE(file.rename(2, "it's <b>2</b>; DROP TABLE sessions; --").ok());
  EXPECT_THAT(names(file), ElementsAre("one", "it's <b>2</b>; DROP TABLE sessions; --"));
  EXPECT_EQ(file.rename(3, "three").error().kind, ErrorKind::not_found);
  EXPECT_EQ(file.rename(2, "a\nb").error().kind, ErrorKind::invalid_input);
}

TEST_F(SessionFileTest, NotesComeBackAsTheyWere) {
  record("one");
  SessionFile file = open();
  const std::string hostile = "quote ' \" `\n<script>alert(1)</script>\t\xE2\x82\xAC%s";
  const std::string large(100'000, 'n');
  for (const std::string& note : {hostile, large, std::string()}) {
    ASSERT_TRUE(file.set_note(1, note).ok());
    EXPECT_EQ(file.find("one").value().note, note);
  }
  EXPECT_EQ(file.set_note(1, "\xFF").error().kind, ErrorKind::invalid_input);
  EXPECT_EQ(file.set_note(7, "note").error().kind, ErrorKind::not_found);
}

TEST_F(SessionFileTest, BookmarksStandAtStepsThatThereAre) {
  record("one");
  SessionFile file = open();
  const Bookmark third = file.add_bookmark(1, 3, "here\nit breaks").value();
  const Bookmark first = file.add_bookmark(1, 1, "").value();
  EXPECT_THAT(file.bookmarks(1).value(), ElementsAre(first, third));
  EXPECT_THAT(file.add_bookmark(1, 4, "").error().message, HasSubstr("has no step 4"));
  record("two");
  EXPECT_EQ(file.remove_bookmark(2, first.bookmark).error().kind, ErrorKind::not_found);
  ASSERT_TRUE(file.remove_bookmark(1, first.bookmark).ok());
  EXPECT_THAT(file.bookmarks(1).value(), ElementsAre(third));
  EXPECT_EQ(file.remove_bookmark(1, 99).error().kind, ErrorKind::not_found);
}

TEST_F(SessionFileTest, ABookmarkIsGivenAnotherNoteWhereItStands) {
  record("one");
  SessionFile file = open();
  const Bookmark first = file.add_bookmark(1, 1, "early").value();
  const Bookmark third = file.add_bookmark(1, 3, "late").value();
  ASSERT_TRUE(file.set_bookmark_note(1, first.bookmark, "earlier").ok());
  const Bookmark renamed{.bookmark = first.bookmark, .step = 1, .note = "earlier"};
  EXPECT_THAT(file.bookmarks(1).value(), ElementsAre(renamed, third));
  EXPECT_EQ(file.set_bookmark_note(1, 99, "").error().kind, ErrorKind::not_found);
  EXPECT_EQ(file.set_bookmark_note(1, third.bookmark, "\xFF").error().kind,
            ErrorKind::invalid_input);
}

// It would never end by itself.
TEST(SessionQuery, EndsWithoutARowOnceItIsInterrupted) {
  const TemporaryFolder folder;
  const std::string path = folder / "runs.db";
  ASSERT_TRUE(
      record_run(synthetic_run(1), {.place = {.file = path, .name = "one"}, .max_steps = 1}).ok());
  const auto file = SessionFile::open(path, FileAccess::read);
  ASSERT_TRUE(file.ok());
  std::int64_t num_rows = 0;
  const QueryVisitor visitor{.columns = [](const std::vector<std::string>&) {},
                             .row =
                                 [&](const std::vector<QueryValue>&) {
                                   ++num_rows;
                                   return true;
                                 },
                             .is_interrupted = [] { return true; }};
  const Status done = run_query(
      file.value(),
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
      visitor);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::not_available);
  EXPECT_THAT(done.error().message, HasSubstr("runs.db: interrupted"));
  EXPECT_EQ(num_rows, 0);
}

TEST(RunQuery, CutsTextsAndMakesNoValueOfMoreThan128MiB) {
  const TemporaryFolder folder;
  const std::string path = folder / "runs.db";
  const auto file = SessionFile::open(path, FileAccess::create);
  ASSERT_TRUE(file.ok());
  std::vector<QueryValue> row;
  QueryVisitor visitor{.columns = [](const std::vector<std::string>&) {},
                       .row =
                           [&](const std::vector<QueryValue>& values) {
                             row = values;
                             return true;
                           },
                       .max_text_bytes = 4};
  ASSERT_TRUE(run_query(file.value(), "SELECT 'abcd', 'abcde', 'abc\u00e9', 12345", visitor).ok());
  EXPECT_EQ(std::get<std::string>(row[0]), "abcd");
  EXPECT_EQ(std::get<CutText>(row[1]).text, "abcd");
  EXPECT_EQ(std::get<CutText>(row[1]).bytes, 5);
  EXPECT_EQ(std::get<CutText>(row[2]).text, "abc");  // not half of a character
  EXPECT_EQ(std::get<std::int64_t>(row[3]), 12345);
  const Status large = run_query(file.value(), "SELECT hex(zeroblob(100000000))", visitor);
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().kind, ErrorKind::invalid_input);
  EXPECT_THAT(large.error().message, HasSubstr("a value of more than 134217728 bytes"));
}

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

}  // namespace hybridscope::test::session_file_test
