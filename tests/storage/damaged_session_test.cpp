// Whatever values a session's rows have, reading and playing it gives steps or an error.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "storage/session_player.h"
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

}  // namespace
}  // namespace hybridscope::test::damaged_session_test
