#include "storage/table_cursor.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "core/base/result.h"

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
    case SQLITE_LOCKED: return ErrorKind::not_available;
    default: return ErrorKind::io;
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

std::int64_t ReadStatement::number(std::initializer_list<std::int64_t> parameters) {
  start(parameters);
  const std::int64_t found = step() ? sqlite3_column_int64(statement_.get(), 0) : 0;
  stop();
  return found;
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

namespace {

// A file size limit (ulimit -f) or a quota shows as a failed write.
bool means_disk_full(int code) {
  return (code & 0xFF) == SQLITE_FULL || code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_SHMSIZE;
}

// Has the file, or one beside it, come to the limit on the size of files (ulimit -f)?
bool is_at_size_limit(const std::string& file) {
  constexpr rlim_t kMostAtOnce = 1 << 16;  // bytes of one write
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  for (const char* ending : {"", "-wal", "-shm", "-journal"}) {
    std::error_code error;
    const std::uintmax_t bytes = std::filesystem::file_size(file + ending, error);
    if ((error ? 0 : bytes) + kMostAtOnce > limit.rlim_cur) return true;
  }
  return false;
}

// SQLite forgets the system's reason for a write that failed.
std::string system_reason(int code, const std::string& file) {
  if ((code & 0xFF) == SQLITE_FULL) return std::strerror(ENOSPC);
  if (is_at_size_limit(file))
    return fmt::format("{}: a limit on the size of files (ulimit -f) is reached",
                       std::strerror(EFBIG));
  return "the disk is full, or a limit on the size of files is reached";
}

}  // namespace

Error sqlite_error(const std::string& file, const SQLite::Exception& exception, sqlite3* handle) {
  const int code = exception.getExtendedErrorCode() > 0 ? exception.getExtendedErrorCode()
                                                        : exception.getErrorCode();
  if (means_disk_full(code))
    return {ErrorKind::not_available,
            fmt::format("{}: cannot write: {}", file, system_reason(code, file))};
  switch (code & 0xFF) {
    case SQLITE_INTERRUPT: return {ErrorKind::not_available, fmt::format("{}: interrupted", file)};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorKind::not_available,
              fmt::format("{}: locked by another program that writes it; try again when it is done",
                          file)};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {ErrorKind::not_available,
              fmt::format("{}: cannot write: the file or its directory is read-only", file)};
    case SQLITE_CANTOPEN:
      return {
          ErrorKind::not_available,
          fmt::format(
              "{}: cannot open it or the files beside it (-wal, -shm); is the directory writable?",
              file)};
    case SQLITE_NOTADB:
      return {ErrorKind::corrupt,
              fmt::format("{}: no session file: it is no SQLite database", file)};
    case SQLITE_CORRUPT:
      return {ErrorKind::corrupt,
              fmt::format("{}: damaged or truncated: {}", file, exception.what())};
    default: break;
  }
  const int system_error = handle == nullptr ? 0 : sqlite3_system_errno(handle);
  return {ErrorKind::io,
          fmt::format("{}: {}{}{}", file, exception.what(), system_error == 0 ? "" : ": ",
                      system_error == 0 ? "" : std::strerror(system_error))};
}

}  // namespace hybridscope
