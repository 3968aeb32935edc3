#include "storage/session_query.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/core.h>
#include <sqlite3.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "sessions/text/shown_text.h"
#include "storage/open_database.h"
#include "storage/session_rows.h"
#include "storage/table_cursor.h"

namespace hybridscope {
namespace {

// The longest beginning of at most `most` bytes that does not end inside a character.
std::string_view beginning(std::string_view text, std::size_t most) {
  std::string_view head = text.substr(0, most);
  head.remove_suffix(unfinished_bytes(head));
  return head;
}

QueryValue value_of(const SQLite::Column& column, std::int64_t max_text_bytes) {
  if (column.isInteger()) return column.getInt64();
  if (column.isFloat()) return column.getDouble();
  if (column.isText()) {
    const std::string_view text(column.getText(), static_cast<std::size_t>(column.getBytes()));
    if (max_text_bytes == 0 || std::cmp_less_equal(text.size(), max_text_bytes))
      return std::string(text);
    return CutText{.text = std::string(beginning(text, static_cast<std::size_t>(max_text_bytes))),
                   .bytes = static_cast<std::int64_t>(text.size())};
  }
  if (column.isBlob()) return BlobLength{column.getBytes()};
  return std::monostate{};
}

// Is it a single read-only statement? SQLite's own syntax errors are left to the caller. To SQLite
// read-only are also statements that change the connection, not the file (ATTACH, BEGIN), but those
// have no columns.
Status check_statement(const SessionFile& file, const std::string& sql) {
  sqlite3* const database = file.database().getHandle();
  const auto prepare = [&](const char* text, const char** rest) {
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v2(database, text, -1, &statement, rest);
    const bool changes = statement != nullptr && sqlite3_stmt_readonly(statement) == 0;
    const bool reads = statement == nullptr || sqlite3_column_count(statement) > 0;
    const bool something = code != SQLITE_OK || statement != nullptr;
    sqlite3_finalize(statement);
    return std::tuple(code == SQLITE_OK, something, changes, reads);
  };
  const char* rest = "";
  const auto [readable, something, changes, reads] = prepare(sql.c_str(), &rest);
  if (!readable) return Ok{};
  if (!something) return invalid_input(fmt::format("{}: the query is empty", file.path()));
  if (changes)
    return invalid_input(fmt::format(
        "{}: this statement would change the file, expected a query that only reads", file.path()));
  if (!reads)
    return invalid_input(fmt::format(
        "{}: this statement reads no rows, and a query may only read (SELECT)", file.path()));
  if (std::get<1>(prepare(rest, nullptr)))
    return invalid_input(
        fmt::format("{}: more than one statement, expected one query", file.path()));
  return Ok{};
}

// ", the tables are a, b; the views are v_a" after SQLite's message about a table that is not
// there; else empty.
std::string tables_hint(SQLite::Database& database, std::string_view message) try {
  if (!message.starts_with("no such table")) return {};
  std::string hint;
  for (const char* type : {"table", "view"}) {
    SQLite::Statement names(
        database,
        "SELECT name FROM sqlite_schema WHERE type = ? AND name NOT LIKE 'sqlite_%' ORDER BY name");
    names.bind(1, type);
    std::string list;
    while (names.executeStep()) list += (list.empty() ? "" : ", ") + names.getColumn(0).getString();
    hint += fmt::format("; the {}s are {}", type, list);
  }
  return hint;
} catch (const SQLite::Exception&) {
  return {};  // the message is the one that counts
}

// While it lives, SQLite asks whether to end what it does.
class AskedInterrupt {
 public:
  AskedInterrupt(SQLite::Database& database, bool (*is_interrupted)())
      : database_(database), is_interrupted_(is_interrupted) {
    constexpr int kOperations = 4000;
    if (is_interrupted_ != nullptr)
      sqlite3_progress_handler(database_.getHandle(), kOperations, &ask, this);
  }
  ~AskedInterrupt() {
    if (is_interrupted_ != nullptr) end_when_asked(database_);
  }
  AskedInterrupt(const AskedInterrupt&) = delete;
  AskedInterrupt& operator=(const AskedInterrupt&) = delete;

 private:
  static int ask(void* self) {
    return static_cast<AskedInterrupt*>(self)->is_interrupted_() ? 1 : 0;
  }

  SQLite::Database& database_;
  bool (*is_interrupted_)();
};

// While it lives, SQLite makes no larger value: one function call could otherwise take a gigabyte.
class LargestValue {
 public:
  explicit LargestValue(SQLite::Database& database)
      : handle_(database.getHandle()),
        before_(sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, kMaxQueryValueBytes)) {}
  ~LargestValue() { sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, before_); }
  LargestValue(const LargestValue&) = delete;
  LargestValue& operator=(const LargestValue&) = delete;

 private:
  sqlite3* handle_;
  int before_;
};

constexpr const char* kStats = R"sql(
WITH numbered AS (
  SELECT *, (ROW_NUMBER() OVER (ORDER BY step) - 1) / ?2 AS bucket FROM steps WHERE session = ?1)
SELECT MIN(n.step), MAX(n.step), COUNT(*), SUM(n.num_reqs), SUM(n.num_scheduled_tokens),
       SUM(n.num_prompt_tokens), SUM(n.num_hit_tokens), SUM(n.num_output_tokens),
       SUM(n.num_finished), SUM(n.num_preempted), SUM(n.num_evicted), SUM(n.num_state_copies),
       SUM(n.state_copy_bytes),
       SUM(CASE WHEN g.num_tokens_padded > n.num_scheduled_tokens
                THEN g.num_tokens_padded - n.num_scheduled_tokens ELSE 0 END),
       MIN(n.num_free_blocks), MAX(n.num_waiting), SUM(n.num_errors), SUM(n.num_warnings)
FROM numbered AS n
LEFT JOIN graph_padding AS g ON g.session = n.session AND g.step = n.step
GROUP BY n.bucket ORDER BY n.bucket)sql";

StatsBucket bucket_of(SQLite::Statement& row) {
  StatsBucket bucket;
  int next = 0;
  for (std::int64_t* field :
       {&bucket.first_step, &bucket.last_step, &bucket.num_steps, &bucket.num_request_steps,
        &bucket.num_scheduled_tokens, &bucket.num_prompt_tokens, &bucket.num_hit_tokens,
        &bucket.num_output_tokens, &bucket.num_finished, &bucket.num_preempted, &bucket.num_evicted,
        &bucket.num_state_copies, &bucket.state_copy_bytes, &bucket.num_padding_tokens,
        &bucket.min_free_blocks, &bucket.max_waiting, &bucket.num_errors, &bucket.num_warnings})
    *field = row.getColumn(next++).getInt64();
  return bucket;
}

}  // namespace

Status run_query(const SessionFile& file, std::string_view sql, const QueryVisitor& visitor) try {
  const std::string text(sql);
  if (Status fine = check_statement(file, text); !fine.ok()) return fine;
  const AskedInterrupt asked(file.database(), visitor.is_interrupted);
  const LargestValue largest(file.database());
  SQLite::Statement statement(file.database(), text);
  std::vector<std::string> columns;
  for (int i = 0; i < statement.getColumnCount(); ++i)
    columns.emplace_back(statement.getColumnName(i));
  visitor.columns(columns);
  std::vector<QueryValue> values(columns.size());
  while (statement.executeStep()) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = value_of(statement.getColumn(static_cast<int>(i)), visitor.max_text_bytes);
    if (!visitor.row(values)) break;
  }
  return Ok{};
} catch (const SQLite::Exception& error) {
  if (error.getErrorCode() == SQLITE_TOOBIG)
    return invalid_input(fmt::format("{}: a value of more than {} bytes (expected smaller ones)",
                                     file.path(), kMaxQueryValueBytes));
  // An error in the query, not in the file.
  if (error.getErrorCode() == SQLITE_ERROR)
    return invalid_input(fmt::format("{}: {}{}", file.path(), error.what(),
                                     tables_hint(file.database(), error.what())));
  return sqlite_error(file.path(), error, file.database().getHandle());
}

Result<std::vector<StatsBucket>> session_stats(const SessionFile& file, std::int64_t session,
                                               std::int64_t num_buckets) try {
  const std::int64_t num_steps =
      query_number(file.database(), "SELECT COUNT(*) FROM steps WHERE session = ?", session);
  const std::int64_t wanted = std::max<std::int64_t>(num_buckets, 1);
  const std::int64_t width = std::max<std::int64_t>((num_steps + wanted - 1) / wanted, 1);
  SQLite::Statement rows(file.database(), kStats);
  SQLite::bind(rows, session, width);
  std::vector<StatsBucket> buckets;
  while (rows.executeStep()) buckets.push_back(bucket_of(rows));
  return buckets;
} catch (const SQLite::Exception& error) {
  return sqlite_error(file.path(), error, file.database().getHandle());
}

}  // namespace hybridscope
