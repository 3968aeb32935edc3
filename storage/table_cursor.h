// Reads the rows of one session in one table, step by step. Reading steps in order continues in the
// table; only going back or far ahead searches it. Every value is checked before it is used.
#pragma once

#include <SQLiteCpp/Exception.h>
#include <sqlite3.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/check/finding.h"
#include "sessions/record/step_fields.h"
#include "sessions/record/step_record.h"
#include "sessions/record/value_names.h"

namespace hybridscope {

// Shared by the cursors of one session. Must outlive them.
struct ReadContext {
  sqlite3* database = nullptr;
  std::int64_t session = 0;
  std::string place;                         // for messages: "runs.db: session 'before'"
  std::int32_t num_requests = 0;             // requests are 0 .. num_requests - 1
  std::set<std::string, std::less<>> texts;  // storage of the records' views
  // Grows when the file is seen as it is now: cursors search again then.
  std::uint64_t snapshot = 0;
  std::optional<Error> error;  // the first error; the function that starts a read clears it

  std::string_view keep(std::string_view text);
  void fail(ErrorKind kind, const std::string& what);
  // Stores SQLite's last error.
  void fail_sqlite(int code);
};

// A prepared statement. Errors go to the context.
class ReadStatement {
 public:
  ReadStatement(ReadContext& context, const std::string& sql);
  // Binds parameters 1, 2, ... and restarts the statement.
  void start(std::span<const std::int64_t> parameters);
  void start(std::initializer_list<std::int64_t> parameters) {
    start(std::span(parameters.begin(), parameters.size()));
  }
  // False: no row is left, or an error occurred.
  bool step();
  // Releases the current row.
  void stop();
  // The first number of the first row with these parameters; 0: there is none, or it is NULL.
  std::int64_t number(std::initializer_list<std::int64_t> parameters);
  sqlite3_stmt* get() const { return statement_.get(); }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  ReadContext& context_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

enum class SeekBy { step, row };

class TableCursor {
 public:
  // `from`: a table, or tables joined on session and step. The columns are `keys`, which order the
  // rows of a step, then `columns`.
  TableCursor(ReadContext& context, std::string from, std::vector<std::string> keys,
              const std::vector<std::string>& columns, SeekBy by = SeekBy::step);

  // Moves to the first row of this step, or if it has none, to the first row of a later step.
  // Requires: SeekBy::step.
  void seek(std::int64_t step);
  // Moves to the row of this step with this first key, or to the first one behind it. Requires:
  // SeekBy::row.
  void seek(std::int64_t step, std::int64_t key);
  // Is the current row one of the step passed to seek()? False after an error.
  bool at_row() const { return has_row_ && step_ == wanted_ && !context_.error; }
  // Is there a current row, of any step?
  bool has_row() const { return has_row_ && !context_.error; }
  // The step of the current row; the largest number after the last row.
  std::int64_t next_step() const;
  void advance();

  ReadContext& context() const { return context_; }
  // Values of the current row: [keys, columns]; 0 is the first key.
  bool is_null(int column) const;
  // Error corrupt, and the result `least`, when the value is not an integer from `least` to `most`.
  std::int64_t integer(int column, std::int64_t least, std::int64_t most) const;
  std::string_view text(int column) const;  // valid until the cursor moves
  std::span<const unsigned char> blob(int column) const;
  // Records that the current row is impossible.
  void fail(std::string_view column, const std::string& expected_and_found) const;

 private:
  void bind(std::initializer_list<std::int64_t> from);
  std::string column_name(int column) const;

  ReadContext& context_;
  std::string from_;
  SeekBy by_;
  ReadStatement statement_;
  std::int64_t wanted_ = 0;
  std::int64_t step_ = 0;  // of the current row
  bool has_row_ = false;
  std::uint64_t snapshot_ = 0;  // that the statement reads
  // All rows from this step on are still ahead, the current row included.
  std::int64_t covered_from_ = std::numeric_limits<std::int64_t>::max();
};

// Fills the members that a field list visits from the columns of the current row, in order.
class RowFields {
 public:
  RowFields(const TableCursor& cursor, int first) : cursor_(cursor), column_(first) {}

  template <class T>
  void operator()(std::string_view, T& member) {
    const int column = column_++;
    if constexpr (std::is_same_v<T, RequestId>)
      member.value = static_cast<std::int32_t>(
          cursor_.integer(column, -1, cursor_.context().num_requests - 1));
    else if constexpr (std::is_same_v<T, Rule>)
      read_rule(column, member);
    else if constexpr (std::is_same_v<T, std::string_view>)
      member = cursor_.context().keep(cursor_.text(column));
    else if constexpr (std::is_enum_v<T>)
      member = static_cast<T>(cursor_.integer(column, 0, num_codes<T>() - 1));
    else if constexpr (std::is_same_v<T, bool>)
      member = cursor_.integer(column, 0, 1) != 0;
    else if constexpr (std::is_same_v<T, std::uint64_t>)  // the same 64 bits
      member = static_cast<T>(cursor_.integer(column, std::numeric_limits<std::int64_t>::min(),
                                              std::numeric_limits<std::int64_t>::max()));
    else
      member = static_cast<T>(
          cursor_.integer(column, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  }

  int next_column() const { return column_; }

 private:
  void read_rule(int column, Rule& rule);

  const TableCursor& cursor_;
  int column_;
};

}  // namespace hybridscope

// Converts SQLite's errors to Errors. Exceptions of SQLiteCpp end here.

struct sqlite3;

namespace hybridscope {

// The message names the file and what to do. not_available: locked, read-only, disk full; corrupt:
// not a database, or a damaged one; io: anything else. `handle`: the connection; null if there is
// none.
Error sqlite_error(const std::string& file, const SQLite::Exception& exception,
                   sqlite3* handle = nullptr);

// The result of `work` (a Result or Status), or the error it threw.
template <class Work>
auto catch_sqlite(const std::string& file, sqlite3* handle, Work&& work) -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (const SQLite::Exception& exception) {
    return sqlite_error(file, exception, handle);
  }
}

}  // namespace hybridscope

namespace hybridscope::fields {

// The columns of each table with parts of steps: the field lists of sessions/record/step_fields.h
// as values that can be passed on. Writing and reading use the same lists.

inline constexpr auto kStep = [](auto& record, auto& visit) {
  for_each_step_field(record.trace, visit);
  for_each_count_field(record.counts, visit);
};
inline constexpr auto kDigests = [](auto& digests, auto& visit) {
  for (std::size_t i = 0; i < kNumStepSections; ++i)
    visit(step_section_name(static_cast<StepSection>(i)), digests.of[i]);
};
inline constexpr auto& kGraph = for_each_graph_field;
inline constexpr auto& kCommand = for_each_command_field;
inline constexpr auto& kScheduled = for_each_scheduled_field;
inline constexpr auto kRow = [](auto& row, auto& visit) {
  for_each_row_field(row, visit);
  for_each_layout_field(row, visit);
};
inline constexpr auto& kCommit = for_each_commit_field;
inline constexpr auto kPreempted = [](auto& request, auto& visit) { visit("request", request); };
inline constexpr auto& kSkipped = for_each_skipped_field;
inline constexpr auto& kTerms = for_each_terms_field;
inline constexpr auto& kLookup = for_each_lookup_field;
inline constexpr auto& kGroupLookup = for_each_group_lookup_field;
inline constexpr auto& kGroup = for_each_group_field;
inline constexpr auto& kEvent = for_each_cache_event_field;
inline constexpr auto kChange = [](auto& change, auto& visit) {
  visit("request", change.request);
  visit("group", change.group);
  visit("col", change.column);
  visit("block", change.block);
};
inline constexpr auto& kDecision = for_each_decision_field;
inline constexpr auto& kCopy = for_each_copy_field;
inline constexpr auto& kAttentionWrite = for_each_attention_write_field;
// The elements follow as a blob.
inline constexpr auto kArray = [](auto& array, auto& visit) {
  visit("group", array.group);
  visit("name", array.name);
  visit("dtype", array.dtype);
  visit("dims", array.dims);
  visit("num_rows", array.rows);
  visit("num_cols", array.cols);
};
inline constexpr auto& kWrite = for_each_write_field;
inline constexpr auto& kFinding = for_each_finding_field;

// The names of what `for_each` shows of a T.
template <class T, class ForEach>
std::vector<std::string> field_names(ForEach for_each) {
  std::vector<std::string> names;
  const auto append = [&names](std::string_view name, const auto&) { names.emplace_back(name); };
  const T sample{};
  for_each(sample, append);
  return names;
}

// The column of a field. GROUP is an SQL keyword, so the field `group` has the column `grp`.
inline std::string_view column_of(std::string_view field) {
  return field == "group" ? "grp" : field;
}

// `keys`, then the columns of the fields that `for_each` visits in a T.
template <class T, class ForEach>
std::vector<std::string> columns(std::vector<std::string> keys, ForEach for_each) {
  for (const std::string& name : field_names<T>(for_each)) keys.emplace_back(column_of(name));
  return keys;
}

}  // namespace hybridscope::fields
