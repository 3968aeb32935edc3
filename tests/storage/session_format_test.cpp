// docs/session-format.md says what is so: its queries run, its tables and views are those there
// are.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "sessions/scenario/scenario_reader.h"
#include "storage/schema.h"
#include "tests/storage/recorded_run.h"

namespace hybridscope::test::session_format_test {
namespace {

std::string document() {
  std::ifstream file(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/docs/session-format.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Query {
  std::string sql;
  int least_rows = 0;
};

// The fenced blocks of SQL; each begins with "-- at least N row(s)".
std::vector<Query> queries() {
  const std::string text = document();
  const std::string fence = "```sql\n-- at least ";
  std::vector<Query> found;
  for (std::size_t at = text.find(fence); at != std::string::npos; at = text.find(fence, at)) {
    at += fence.size();
    const std::size_t end = text.find("\n```", at);
    found.push_back({.sql = text.substr(text.find('\n', at), end - text.find('\n', at)),
                     .least_rows = std::stoi(text.substr(at))});
    at = end;
  }
  return found;
}

RunPlan under_profile(const std::string& name, EngineProfile profile) {
  const std::string file = std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/" + name + ".json";
  Scenario scenario = read_scenario_file(file).value();
  scenario.settings.engine = profile;
  return plan_scenario(scenario, file).value();
}

class SessionFormat : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    file_ = *folder_ / "runs.db";
    record("before", under_profile("skipped_for_a_step", EngineProfile::reference));
    record("after", under_profile("skipped_for_a_step", EngineProfile::safe));
    record("short of blocks", shipped_scenario("preemption_and_resume"));
    record("padded", shipped_scenario("graph_padding"));
    record("traffic", synthetic_run(40), 120);
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static void record(const std::string& name, const RunPlan& plan, std::int64_t max_steps = 0) {
    const Status recorded =
        record_run(plan, {.place = {.file = file_, .name = name}, .max_steps = max_steps});
    ASSERT_TRUE(recorded.ok()) << recorded.error().message;
  }

  static TemporaryFolder* folder_;
  static std::string file_;
};

TemporaryFolder* SessionFormat::folder_ = nullptr;
std::string SessionFormat::file_;

TEST_F(SessionFormat, QueriesOfTheDocumentAnswer) {
  const std::vector<Query> all = queries();
  EXPECT_EQ(all.size(), 10U);
  SQLite::Database database(file_, SQLite::OPEN_READONLY);
  for (const Query& one : all) {
    SCOPED_TRACE(one.sql);
    try {
      SQLite::Statement statement(database, one.sql);
      int num_rows = 0;
      while (statement.executeStep()) ++num_rows;
      EXPECT_GE(one.least_rows, 1);
      EXPECT_GE(num_rows, one.least_rows);
    } catch (const SQLite::Exception& exception) {
      ADD_FAILURE() << exception.what();
    }
  }
}

TEST_F(SessionFormat, DocumentHasALineForEachTableAndView) {
  const std::string text = document();
  SQLite::Database database(file_, SQLite::OPEN_READONLY);
  SQLite::Statement names(database,
                          "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name "
                          "NOT LIKE 'sqlite_%'");
  int num_names = 0;
  for (; names.executeStep(); ++num_names)
    EXPECT_NE(text.find("\n| `" + names.getColumn(0).getString() + "` |"), std::string::npos)
        << names.getColumn(0).getString();
  EXPECT_GT(num_names, 25);
}

TEST_F(SessionFormat, DocumentNamesEachEnumAndTheVersion) {
  const std::string text = document();
  for (const EnumName& row : enum_names())
    EXPECT_NE(text.find("`" + std::string(row.of) + "`"), std::string::npos) << row.of;
  EXPECT_NE(text.find("| `user_version` | " + std::to_string(kSchemaVersion) + ","),
            std::string::npos);
}

}  // namespace
}  // namespace hybridscope::test::session_format_test
