#include "storage/insert.h"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>

#include <bit>

#include "core/base/check.h"

namespace hybridscope {

static_assert(std::endian::native == std::endian::little, "blobs are written as memory holds them");

Insert::Insert(SQLite::Database& database, std::string_view table, std::int64_t session,
               const std::vector<std::string>& columns)
    : handle_(database.getHandle()),
      table_(table),
      columns_("session"),
      session_(session),
      width_(columns.size() + 1),
      // One row more, so that run() can detect a row that is too long.
      values_((kRowsTogether + 1) * width_),
      next_(values_.data()) {
  for (const std::string& column : columns) columns_ += ", " + column;
  one_ = prepare(1);
}

Insert::Statement Insert::prepare(std::size_t rows) const {
  std::string marks = "(?";
  for (std::size_t i = 1; i < width_; ++i) marks += ", ?";
  marks += ")";
  // A row that does not fit ends the transaction. To undo only this statement of many rows, SQLite
  // would have to copy every page that it changes.
  std::string sql = "INSERT OR ROLLBACK INTO " + table_ + " (" + columns_ + ") VALUES " + marks;
  for (std::size_t i = 1; i < rows; ++i) sql += ", " + marks;
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(handle_, sql.c_str(), static_cast<int>(sql.size()) + 1,
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) throw SQLite::Exception(handle_, code);
  return Statement(statement);
}

void Insert::bind(sqlite3_stmt* statement, std::size_t first, std::size_t count) const {
  int parameter = 1;
  int failed = SQLITE_OK;
  for (std::size_t row = first; row < first + count; ++row) {
    const std::int64_t* values = values_.data() + row * width_;
    for (std::size_t i = 0; i < num_values_[row]; ++i)
      failed |= sqlite3_bind_int64(statement, parameter++, values[i]);
    for (std::size_t i = num_values_[row]; i < width_; ++i)
      failed |= sqlite3_bind_null(statement, parameter++);
  }
  if (failed != SQLITE_OK) throw SQLite::Exception(handle_, failed);
}

void Insert::bind_bytes(sqlite3_stmt* statement) const {
  for (const Bytes& value : bytes_) {
    const int parameter = static_cast<int>(value.column) + 1;
    // An empty span may have a null pointer, which would bind NULL.
    const void* data = value.size == 0 ? static_cast<const void*>("") : value.data;
    const int code =
        value.is_text ? sqlite3_bind_text(statement, parameter, static_cast<const char*>(data),
                                          static_cast<int>(value.size), SQLITE_STATIC)
                      : sqlite3_bind_blob64(statement, parameter, data, value.size, SQLITE_STATIC);
    if (code != SQLITE_OK) throw SQLite::Exception(handle_, code);
  }
}

void Insert::step(sqlite3_stmt* statement) const {
  const int code = sqlite3_step(statement);
  const int reset = sqlite3_reset(statement);
  if (code != SQLITE_DONE) throw SQLite::Exception(handle_, reset);
}

void Insert::run() {
  HS_EXPECT(row_size() <= width_);
  num_values_.push_back(row_size());
  next_ = values_.data() + ++num_rows_ * width_;
  if (!bytes_.empty()) return flush();
  if (num_rows_ < kRowsTogether) return;
  if (!many_) many_ = prepare(kRowsTogether);
  bind(many_.get(), 0, kRowsTogether);
  step(many_.get());
  forget_rows();
}

// Bytes belong to the last row.
void Insert::flush() {
  for (std::size_t row = 0; row < num_rows_; ++row) {
    bind(one_.get(), row, 1);
    if (row + 1 == num_rows_) bind_bytes(one_.get());
    step(one_.get());
  }
  forget_rows();
}

void Insert::forget_rows() {
  num_values_.clear();
  bytes_.clear();
  num_rows_ = 0;
  next_ = values_.data();
}

}  // namespace hybridscope
