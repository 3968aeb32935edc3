#include "storage/table_cursor.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace hybridscope {
namespace {

// Skipping the rows of this many steps costs less than a search.
constexpr std::int64_t kStepsReadOver = 2;

// The first column is the step, then the caller's follow.
constexpr int kFirstColumn = 1;

std::string select(const std::string& from, const std::vector<std::string>& keys,
                   const std::vector<std::string>& columns, SeekBy by) {
  std::string names = "step";
  for (const auto* list : {&keys, &columns})
    for (const std::string& name : *list) names += ", " + name;
  std::string order = "step";
  for (const std::string& key : keys) order += ", " + key;
  const std::string begin =
      by == SeekBy::row ? fmt::format("(step, {}) >= (?, ?)", keys.front()) : "step >= ?";
  return fmt::format("SELECT {} FROM {} WHERE session = ? AND {} ORDER BY {}", names, from, begin,
                     order);
}

ErrorKind kind_of(int code) {
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR:  // a missing table or column
      return ErrorKind::corrupt;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorKind::not_available;
    default:
      return ErrorKind::io;
  }
}

}  // namespace

std::string_view ReadContext::keep(std::string_view text) {
  auto found = texts.find(text);
  if (found == texts.end()) found = texts.emplace(text).first;
  return *found;
}

void ReadContext::fail(ErrorKind kind, const std::string& what) {
  if (!error) error = Error{kind, place + ": " + what};
}

void ReadContext::fail_sqlite(int code) { fail(kind_of(code), sqlite3_errmsg(database)); }

ReadStatement::ReadStatement(ReadContext& context, const std::string& sql) : context_(context) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(context.database, sql.c_str(), static_cast<int>(sql.size()) + 1,
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  statement_.reset(statement);
  if (code != SQLITE_OK) context.fail_sqlite(code);
}

void ReadStatement::start(std::span<const std::int64_t> parameters) {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_.get());
  int index = 1;
  for (const std::int64_t value : parameters)
    if (const int code = sqlite3_bind_int64(statement_.get(), index++, value); code != SQLITE_OK)
      context_.fail_sqlite(code);
}

bool ReadStatement::step() {
  if (statement_ == nullptr) return false;
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) context_.fail_sqlite(code);
  return false;
}

void ReadStatement::stop() {
  if (statement_ != nullptr) sqlite3_reset(statement_.get());
}

TableCursor::TableCursor(ReadContext& context, std::string from, std::vector<std::string> keys,
                         const std::vector<std::string>& columns, SeekBy by)
    : context_(context),
      from_(std::move(from)),
      by_(by),
      statement_(context, select(from_, keys, columns, by)) {}

// `from`: [step], or step and first key.
void TableCursor::bind(std::initializer_list<std::int64_t> from) {
  std::vector<std::int64_t> parameters{context_.session};
  parameters.insert(parameters.end(), from);
  statement_.start(parameters);
  snapshot_ = context_.snapshot;
  has_row_ = false;
  advance();
}

void TableCursor::advance() {
  if (has_row_) covered_from_ = step_ + (step_ < std::numeric_limits<std::int64_t>::max() ? 1 : 0);
  has_row_ = statement_.step();
  // After an error nothing is known to be ahead, so the next seek() searches again.
  if (!has_row_ && context_.error) covered_from_ = std::numeric_limits<std::int64_t>::max();
  if (has_row_) step_ = sqlite3_column_int64(statement_.get(), 0);
}

void TableCursor::seek(std::int64_t step) {
  HS_EXPECT(by_ == SeekBy::step);
  wanted_ = step;
  const bool far_ahead = has_row_ && step > kStepsReadOver && step_ < step - kStepsReadOver;
  const bool is_outdated = snapshot_ != context_.snapshot;
  if (!is_outdated && step >= covered_from_ && !far_ahead) {
    while (has_row_ && step_ < step) advance();
    return;
  }
  covered_from_ = step;
  bind({step});
}

void TableCursor::seek(std::int64_t step, std::int64_t key) {
  HS_EXPECT(by_ == SeekBy::row);
  wanted_ = step;
  bind({step, key});
}

std::int64_t TableCursor::next_step() const {
  return has_row_ ? step_ : std::numeric_limits<std::int64_t>::max();
}

std::string TableCursor::column_name(int column) const {
  const char* name = sqlite3_column_name(statement_.get(), column + kFirstColumn);
  return name == nullptr ? "?" : name;
}

void TableCursor::fail(std::string_view column, const std::string& expected_and_found) const {
  context_.fail(ErrorKind::corrupt,
                fmt::format("step {}: {}.{}: {}", step_, from_.substr(0, from_.find(' ')), column,
                            expected_and_found));
}

bool TableCursor::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column + kFirstColumn) == SQLITE_NULL;
}

std::int64_t TableCursor::integer(int column, std::int64_t least, std::int64_t most) const {
  const int index = column + kFirstColumn;
  if (sqlite3_column_type(statement_.get(), index) != SQLITE_INTEGER) {
    fail(column_name(column), is_null(column) ? "NULL, expected an integer" : "no integer");
    return least;
  }
  const std::int64_t value = sqlite3_column_int64(statement_.get(), index);
  if (value < least || value > most) {
    fail(column_name(column), fmt::format("{}, expected {} to {}", value, least, most));
    return least;
  }
  return value;
}

std::string_view TableCursor::text(int column) const {
  const int index = column + kFirstColumn;
  if (sqlite3_column_type(statement_.get(), index) != SQLITE_TEXT) {
    fail(column_name(column), is_null(column) ? "NULL, expected text" : "no text");
    return {};
  }
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), index));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), index))};
}

std::span<const unsigned char> TableCursor::blob(int column) const {
  const int index = column + kFirstColumn;
  if (sqlite3_column_type(statement_.get(), index) != SQLITE_BLOB) {
    fail(column_name(column), is_null(column) ? "NULL, expected a blob" : "no blob");
    return {};
  }
  const auto* bytes =
      static_cast<const unsigned char*>(sqlite3_column_blob(statement_.get(), index));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), index))};
}

void RowFields::read_rule(int column, Rule& rule) {
  const std::string_view slug = cursor_.text(column);
  for (const RuleInfo& info : rule_table())
    if (info.slug == slug) {
      rule = info.rule;
      return;
    }
  cursor_.fail("rule", fmt::format("'{}' is not a rule of this version", slug));
}

}  // namespace hybridscope
