// Whatever values a session's rows have, reading and playing it gives steps or an error.

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "sessions/text/input_file.h"
#include "storage/schema.h"
#include "storage/session_file.h"
#include "storage/session_player.h"
#include "storage/session_query.h"
#include "storage/session_reader.h"
#include "tests/storage/record_lines.h"
#include "tests/storage/recorded_run.h"
#include "tests/support/property.h"

namespace hybridscope::test::damaged_session_test {
namespace {

struct Column {
  std::string table;
  std::string name;
};

// Of the tables that hold parts of steps.
std::vector<Column> columns_of(const std::string& file) {
  SQLite::Database database(file, SQLite::OPEN_READONLY);
  SQLite::Statement query(database,
                          "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c "
                          "WHERE t.type = 'table' AND c.name <> 'session' AND EXISTS "
                          "(SELECT 1 FROM pragma_table_info(t.name) k WHERE k.name = 'step')");
  std::vector<Column> columns;
  while (query.executeStep())
    columns.push_back({query.getColumn(0).getString(), query.getColumn(1).getString()});
  return columns;
}

// Sets one column of one row, or of one step's rows, to a value; what the table refuses is left.
void damage(const std::string& file, const Column& column) {
  constexpr std::array kValues = {"-1",
                                  "-2",
                                  "0",
                                  "1",
                                  "7",
                                  "99",
                                  "2147483648",
                                  "9223372036854775807",
                                  "-9223372036854775808",
                                  "''",
                                  "x'00ff'"};
  const std::string value =
      kValues[static_cast<std::size_t>(draw(0, static_cast<std::int32_t>(kValues.size()) - 1))];
  const std::string step = std::to_string(draw(1, 20));
  const std::string key = one_in(2) ? ""
                                    : " AND " + column.name + " = (SELECT max(" + column.name +
                                          ") FROM " + column.table + " WHERE step = " + step + ")";
  try {
    SQLite::Database database(file, SQLite::OPEN_READWRITE);
    database.exec("PRAGMA foreign_keys = OFF; UPDATE " + column.table + " SET " + column.name +
                  " = " + value + " WHERE step = " + step + key);
  } catch (const SQLite::Exception&) {
  }
}

// Steps that could be read; no contract may be broken on the way.
int play(const SessionPlace& place) {
  auto player = SessionPlayer::open(place);
  if (!player.ok()) return 0;
  int steps = 0;
  for (std::int64_t step = -1; step < 24; ++step) steps += player.value()->go_to(step).ok() ? 1 : 0;
  for (std::int64_t step = 20; step > 0; step -= 3)
    steps += player.value()->go_to(step).ok() ? 1 : 0;
  SessionReader& reader = player.value()->reader();
  for (std::int32_t block = 1; block < 8; ++block)
    steps += reader.write_chain(block, ContentKind::temporal, 15).ok() ? 1 : 0;
  return steps;
}

TEST(DamagedSession, GivesStepsOrAnError) {
  const TemporaryFolder folder;
  const SessionPlace whole{.file = folder / "whole.db", .name = "run"};
  const SessionPlace damaged{.file = folder / "damaged.db", .name = "run"};
  ASSERT_TRUE(record_run(shipped_scenario("preemption_and_resume"), {.place = whole}).ok());
  const std::vector<Column> columns = columns_of(whole.file);
  const int num_whole = play(whole);
  int num_less = 0;
  check_property(150, [&] {
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(damaged.file + suffix);
    std::filesystem::copy_file(whole.file, damaged.file);
    for (std::int32_t i = draw(1, 3); i > 0; --i)
      damage(damaged.file, columns[static_cast<std::size_t>(
                               draw(0, static_cast<std::int32_t>(columns.size()) - 1))]);
    num_less += play(damaged) < num_whole ? 1 : 0;
  });
  EXPECT_GT(num_less, 20);
}

// A file whose schema is not the program's own is refused before SQLite runs anything of it.

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

// Files of older versions are brought up to date when they are opened and lose nothing. The text of
// version 1 was taken from a file that it had written; the others follow from it step by step.

using testing::ElementsAre;

// What digests are made of may differ between versions, and token_terms are new in version 7.
std::vector<std::string> as_before(StepRecord record) {
  record.digests = {};
  record.trace.token_terms = {};
  return lines_of(record);
}

class OlderVersion : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    const std::string path =
        std::string(HYBRIDSCOPE_SOURCE_DIR) + "/tests/storage/data/session_v1.sql";
    std::ifstream text(path);
    ASSERT_TRUE(text.good()) << path;
    std::stringstream sql;
    sql << text.rdbuf();
    SQLite::Database database(place_.file, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    database.exec(sql.str());
    const std::vector<SchemaStep> steps = schema_steps();
    for (int version = 2; version <= GetParam(); ++version)
      for (const std::string_view part : steps[static_cast<std::size_t>(version - 1)].sql)
        database.exec(std::string(part));
    database.exec("PRAGMA user_version = " + std::to_string(GetParam()));
    ASSERT_EQ(query_number(place_.file, "PRAGMA user_version"), GetParam());
  }
  TemporaryFolder folder_;
  SessionPlace place_{.file = folder_ / "older.db", .name = "kept"};
};

TEST_P(OlderVersion, HasAllTablesOnceItWasOpened) {
  const auto file = SessionFile::open(place_.file, FileAccess::write);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(query_number(place_.file, "PRAGMA user_version"), kSchemaVersion);
  EXPECT_THAT(query(place_.file, "PRAGMA integrity_check"), ElementsAre("ok"));
  EXPECT_THAT(query(place_.file, "PRAGMA foreign_key_check"), ElementsAre());
  const std::string now = folder_ / "new.db";
  ASSERT_TRUE(SessionFile::open(now, FileAccess::create).ok());
  const std::string names = "SELECT type || ' ' || name FROM sqlite_schema ORDER BY 1";
  EXPECT_EQ(query(place_.file, names), query(now, names));
}

TEST_P(OlderVersion, StepsAreAsTheyAreRecordedToday) {
  const SessionPlace today{.file = folder_ / "today.db", .name = "today"};
  ASSERT_TRUE(
      record_run(shipped_scenario("align_boundary_by_accepted_drafts"), {.place = today}).ok());
  auto older = SessionPlayer::open(place_);
  ASSERT_TRUE(older.ok()) << older.error().message;
  auto newer = SessionPlayer::open(today).value();
  int num_steps = 0;
  for (; step_forward(*newer); ++num_steps) {
    ASSERT_TRUE(step_forward(*older.value()));
    EXPECT_EQ(as_before(older.value()->record()), as_before(newer->record()));
    EXPECT_TRUE(older.value()->record().trace.token_terms.empty());
    EXPECT_FALSE(newer->record().trace.token_terms.empty());
    EXPECT_EQ(lines_of(older.value()->scheduler_tables()), lines_of(newer->scheduler_tables()));
    EXPECT_EQ(lines_of(older.value()->worker_tables()), lines_of(newer->worker_tables()));
  }
  EXPECT_EQ(num_steps, 3);
  EXPECT_EQ(older.value()->reader().info().header.digest_version, 1);
  EXPECT_EQ(newer->reader().info().header.digest_version, kDigestVersion);
  EXPECT_EQ(older.value()->reader().request_name({0}), "A");
}

TEST_P(OlderVersion, ASourceTellsHowItsDigestsWereMade) {
  EXPECT_EQ(open_session_source(place_).value()->digest_version(), 1);
}

INSTANTIATE_TEST_SUITE_P(Versions, OlderVersion, testing::Values(1, 2, 3, 4, 5, 6));

}  // namespace

}  // namespace hybridscope::test::damaged_session_test
