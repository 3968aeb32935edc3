// A file whose schema is not the program's own is refused before SQLite runs anything of it.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sessions/text/stop_request.h"
#include "storage/schema.h"
#include "storage/session_file.h"
#include "storage/session_query.h"
#include "tests/storage/recorded_run.h"

namespace hybridscope::test::hostile_schema_test {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

// Never ends.
const std::string kForEver =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";

class HostileSchema : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(record_run(synthetic_run(4), {.place = place_}).ok()); }
  void exec(const std::string& sql) {
    SQLite::Database(place_.file, SQLite::OPEN_READWRITE).exec(sql);
  }
  // Of opening it in every way.
  void refused(const std::string& fault) {
    for (const FileAccess access : {FileAccess::read, FileAccess::write, FileAccess::create}) {
      const auto opened = SessionFile::open(place_.file, access);
      ASSERT_FALSE(opened.ok());
      EXPECT_EQ(opened.error().kind, ErrorKind::corrupt);
      EXPECT_THAT(
          opened.error().message,
          AllOf(HasSubstr("runs.db: no session file as hybridscope makes it: "), EndsWith(fault)));
    }
    EXPECT_FALSE(
        record_run(synthetic_run(4), {.place = {.file = place_.file, .name = "two"}}).ok());
  }
  TemporaryFolder folder_;
  SessionPlace place_{.file = folder_ / "runs.db", .name = "one"};
};

TEST_F(HostileSchema, AViewInPlaceOfATable) {
  exec("PRAGMA foreign_keys = OFF; DROP TABLE digests; CREATE VIEW digests AS " + kForEver);
  refused("\"digests\" is a view, expected a table");
}

TEST_F(HostileSchema, ATrigger) {
  exec("CREATE TRIGGER t AFTER INSERT ON steps BEGIN " + kForEver + "; END");
  refused("\"t\" is a trigger, expected none");
}

TEST_F(HostileSchema, ATriggerThatIsCalledLikeATable) {
  exec("CREATE TRIGGER steps AFTER INSERT ON steps BEGIN " + kForEver + "; END");
  refused("\"steps\" is a trigger, expected none");
}

TEST_F(HostileSchema, AnotherViewOfThatName) {
  exec("DROP VIEW v_steps; CREATE VIEW v_steps AS " + kForEver);
  refused("view \"v_steps\" is another than hybridscope makes");
}

TEST_F(HostileSchema, AnotherTableOfThatName) {
  exec(
      "PRAGMA foreign_keys = OFF; DROP TABLE bookmarks; CREATE TABLE bookmarks (bookmark, "
      "session, step, note CHECK (length(zeroblob(1000000000)) > 0))");
  refused("table \"bookmarks\" is another than hybridscope makes");
}

TEST_F(HostileSchema, AnIndexThatComputes) {
  exec("CREATE INDEX slow ON steps (step) WHERE length(hex(zeroblob(1000000))) > 0");
  refused("\"slow\" is an index of table steps that hybridscope did not make");
}

TEST_F(HostileSchema, ATableThatIsMissing) {
  exec(
      "PRAGMA foreign_keys = OFF; DROP TABLE speech; DROP VIEW v_tokens; "
      "DROP VIEW v_state_differences");
  refused("table \"speech\" is missing");
}

TEST_F(HostileSchema, OfAnOlderVersionIsRefusedBeforeItIsUpgraded) {
  exec(
      "DROP TABLE speech; DROP VIEW v_tokens; DROP VIEW v_state_differences; "
      "CREATE VIEW speech AS " +
      kForEver + "; PRAGMA user_version = 5");
  refused("table \"sessions\" is another than hybridscope makes");  // it has a column of version 6
}

TEST_F(HostileSchema, TablesAndViewsOfSomebodysOwnMayBeThere) {
  exec(
      "CREATE TABLE mine (session, step, remark); INSERT INTO mine VALUES (1, 1, 'here'); "
      "CREATE INDEX mine_by_step ON mine (step); "
      "CREATE VIEW pragma_table_info AS " +
      kForEver);
  auto file = SessionFile::open(place_.file, FileAccess::write);
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_TRUE(file.value().remove(1).ok());
  EXPECT_EQ(query_number(place_.file, "SELECT count(*) FROM mine"), 1);
  EXPECT_EQ(query_number(place_.file, "SELECT count(*) FROM steps"), 0);
}

TEST_F(HostileSchema, WhatSqliteDoesEndsWhenTheProgramIsAskedToStop) {
  const auto file = SessionFile::open(place_.file, FileAccess::read);
  ASSERT_TRUE(file.ok());
  stop_waiting_when([] { return true; });
  const Status done = run_query(file.value(), kForEver,
                                {.columns = [](const std::vector<std::string>&) {},
                                 .row = [](const std::vector<QueryValue>&) { return true; }});
  stop_waiting_when(nullptr);
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(done.error().message, EndsWith("runs.db: interrupted"));
}

}  // namespace
}  // namespace hybridscope::test::hostile_schema_test
