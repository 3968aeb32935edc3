#include "storage/session_file.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

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

}  // namespace
}  // namespace hybridscope::test::session_file_test
