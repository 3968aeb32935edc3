// Files of older versions are brought up to date when they are opened and lose nothing. The text of
// version 1 was taken from a file that it had written; the others follow from it step by step.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "storage/schema.h"
#include "storage/session_player.h"
#include "storage/session_reader.h"
#include "tests/storage/record_lines.h"
#include "tests/storage/recorded_run.h"

namespace hybridscope::test::older_version_test {
namespace {

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
}  // namespace hybridscope::test::older_version_test
