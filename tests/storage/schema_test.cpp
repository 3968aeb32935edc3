#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "sessions/record/step_fields.h"
#include "sessions/scenario/scenario_reader.h"
#include "storage/schema.h"
#include "storage/session_file.h"
#include "storage/table_cursor.h"
#include "tests/storage/recorded_run.h"

namespace hybridscope::test::schema_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Collects the names of the fields it is shown.
struct ColumnNames {
  std::vector<std::string> names;
  template <class T>
  void operator()(std::string_view name, const T&) {
    names.emplace_back(name);
  }
};

template <class T>
const T kSample{};

class Schema : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(SessionFile::open(file_, FileAccess::create).ok()); }
  std::vector<std::string> columns(const std::string& table) const {
    return query(file_, "SELECT name FROM pragma_table_info('" + table + "')");
  }
  TemporaryFolder folder_;
  std::string file_ = folder_ / "empty.db";
};

// session, step and `keys`, then the fields that `walk` shows, then `behind`.
template <class Walk>
std::vector<std::string> expected(std::vector<std::string> keys, Walk walk,
                                  const std::vector<std::string>& behind = {}) {
  ColumnNames names{{"session", "step"}};
  names.names.insert(names.names.end(), keys.begin(), keys.end());
  walk(names);
  for (std::string& name : names.names) name = fields::column_of(name);
  names.names.insert(names.names.end(), behind.begin(), behind.end());
  return names.names;
}

TEST_F(Schema, TablesOfAStepHaveTheFieldsOfTheListsAsColumns) {
  const StepRecord record;
  const StepTrace& trace = record.trace;
  EXPECT_EQ(columns("steps"), expected({}, [&](auto& v) {
              for_each_step_field(trace, v);
              for_each_count_field(record.counts, v);
            }));
  EXPECT_EQ(columns("graph_padding"),
            expected({}, [&](auto& v) { for_each_graph_field(trace, v); }));
  EXPECT_EQ(columns("digests"), expected({}, [&](auto& v) {
              for (std::size_t i = 0; i < kNumStepSections; ++i)
                v(step_section_name(static_cast<StepSection>(i)), 0);
            }));
  EXPECT_EQ(columns("step_groups"),
            expected({"grp"}, [](auto& v) { for_each_group_field(kSample<GroupTrace>, v); }));
}

TEST_F(Schema, TablesOfRequestsHaveTheFieldsOfTheListsAsColumns) {
  EXPECT_EQ(columns("commands"), expected({"ordinal"}, [](auto& v) {
              for_each_command_field(kSample<CommandTrace>, v);
            }));
  EXPECT_EQ(columns("rows"), expected({"scheduled"}, [](auto& v) {
              for_each_scheduled_field(kSample<ScheduledTrace>, v);
              v("row", 0);
              for_each_row_field(kSample<RowTrace>, v);
              for_each_layout_field(kSample<RowTrace>, v);
            }));
  EXPECT_EQ(columns("commits"),
            expected({"ordinal"}, [](auto& v) { for_each_commit_field(kSample<CommitTrace>, v); }));
  EXPECT_EQ(columns("skipped_requests"), expected({"ordinal"}, [](auto& v) {
              for_each_skipped_field(kSample<SkippedRequest>, v);
            }));
  EXPECT_EQ(columns("token_terms"),
            expected({"ordinal"}, [](auto& v) { for_each_terms_field(kSample<TokenTerms>, v); }));
  EXPECT_EQ(columns("lookups"), expected({"ordinal"}, [](auto& v) {
              for_each_lookup_field(kSample<AdmissionLookup>, v);
            }));
  EXPECT_EQ(columns("lookup_groups"), expected({"ordinal", "grp"}, [](auto& v) {
              for_each_group_lookup_field(kSample<GroupLookup>, v);
            }));
  EXPECT_EQ(columns("findings"),
            expected({"ordinal", "severity"},
                     [](auto& v) { for_each_finding_field(kSample<Finding>, v); }, {"text"}));
}

TEST_F(Schema, TablesOfBlocksHaveTheFieldsOfTheListsAsColumns) {
  EXPECT_EQ(columns("block_events"), expected({"ordinal", "at_commit"}, [](auto& v) {
              for_each_cache_event_field(kSample<CacheEvent>, v);
            }));
  EXPECT_EQ(columns("copy_decisions"), expected({"launch", "decision", "row"}, [](auto& v) {
              for_each_decision_field(kSample<CopyDecisionTrace>, v);
            }));
  EXPECT_EQ(columns("state_copies"), expected({"launch", "ordinal"}, [](auto& v) {
              for_each_copy_field(kSample<StateCopyTrace>, v);
            }));
  EXPECT_EQ(columns("attention_writes"), expected({"grp", "ordinal"}, [](auto& v) {
              for_each_attention_write_field(kSample<AttentionWrite>, v);
            }));
  EXPECT_EQ(columns("write_events"),
            expected({"place"}, [](auto& v) { for_each_write_field(kSample<StateWrite>, v); }));
  EXPECT_THAT(columns("worker_table_changes"),
              ElementsAre("session", "step", "ordinal", "request", "grp", "col", "block"));
}

TEST_F(Schema, AFileSaysWhatItIs) {
  EXPECT_EQ(query_number(file_, "PRAGMA application_id"), 0x48795331);
  EXPECT_EQ(query_number(file_, "PRAGMA user_version"), kSchemaVersion);
  EXPECT_EQ(query_number(file_, "PRAGMA page_size"), 8192);
  EXPECT_THAT(query(file_, "PRAGMA journal_mode"), ElementsAre("wal"));
  EXPECT_THAT(query(file_,
                    "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = "
                    "'table' AND NOT strict AND name NOT LIKE 'sqlite%'"),
              IsEmpty());
}

TEST_F(Schema, EveryEnumHasItsNames) {
  EXPECT_THAT(query(file_, "SELECT name FROM enum_names WHERE enum = 'admission' ORDER BY code"),
              ElementsAre("running", "new", "resumed"));
  EXPECT_THAT(query(file_, "SELECT name FROM enum_names WHERE enum = 'skip_reason' AND code = 10"),
              ElementsAre("frame_in_flight"));
  EXPECT_THAT(query(file_, "SELECT name FROM enum_names WHERE enum = 'copy_rule' AND code = 5"),
              ElementsAre("all_mode_boundary"));
  EXPECT_THAT(query(file_, "SELECT enum || ' ' || name FROM enum_names WHERE name = ''"),
              IsEmpty());
  EXPECT_THAT(query(file_,
                    "SELECT enum || ' ' || name FROM enum_names GROUP BY enum, name HAVING "
                    "count(*) > 1"),
              IsEmpty());
}

// Each enum by its last value: an enum that grows has to grow here.
TEST_F(Schema, EveryEnumHasAsManyNamesAsValues) {
  EXPECT_THAT(
      query(file_, "SELECT enum || ' ' || count(*) FROM enum_names GROUP BY enum ORDER BY enum"),
      ElementsAre("admission 3", "array_dtype 5", "cache_event 12", "command 8",
                  "command_outcome 2", "commit_outcome 5", "content 4", "copy_outcome 7",
                  "copy_rule 6", "dispatch_reason 10", "ignored_reason 10", "launch 2",
                  "lookup_stop 6", "row_class 4", "row_origin 4", "runtime_mode 5",
                  "skip_reason 11", "write_kind 6"));
}

TEST_F(Schema, EveryViewCanBeRead) {
  for (const std::string& view :
       query(file_, "SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name"))
    EXPECT_THAT(query(file_, "SELECT * FROM " + view), IsEmpty()) << view;
  EXPECT_EQ(query_number(file_, "SELECT count(*) FROM sqlite_schema WHERE type = 'view'"), 9);
}

// docs/session-format.md says what is so: its queries run, its tables and views are those there
// are.

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

}  // namespace hybridscope::test::schema_test
